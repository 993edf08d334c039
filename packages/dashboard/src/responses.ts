// The responses of the dashboard. Each has the headers that keep other sites from using the response.

const safety = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export function respond(
  status: number,
  type: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Response {
  return new Response(body, { status, headers: { ...safety, "content-type": type, ...headers } });
}

export function plain(status: number, body: string, headers?: Record<string, string>): Response {
  return respond(status, "text/plain; charset=utf-8", body, headers);
}

export function json(status: number, body: unknown): Response {
  return respond(status, "application/json", JSON.stringify(body));
}

export function notFound(): Response {
  return plain(404, "Not Found");
}

/** The page itself; its script and style are assets. */
export const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Webhook inbox</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="assets/dashboard.css">
<script type="module" src="assets/dashboard.js"></script>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. Without it: esim-webhooks inbox --help</noscript>
</body>
</html>
`;
