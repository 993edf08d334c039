/**
 * Calls the control side, and resolves to the body of its answer as text.
 * @param {string} method
 * @param {string} path from the page
 * @param {unknown} [body]
 * @returns {Promise<string>}
 */
export async function callControl(method, path, body) {
  const response = await fetch(path.replace(/^\//, ""), {
    method,
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(messageIn(text) ?? `The sandbox answered ${response.status}.`);
  return text;
}

/**
 * @param {string} view with its query
 * @returns {Promise<unknown>}
 */
export async function readView(view) {
  return JSON.parse(await callControl("GET", view)).data;
}

/**
 * What is wrong, and how to mend it, by the control side's own words.
 * @param {string} text
 * @returns {string | undefined}
 */
function messageIn(text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return undefined;
  }
}
