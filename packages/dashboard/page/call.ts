import type { CallName, Calls, Failure } from "../src/contract.ts";

/** A call that failed, with both halves of what the server said. */
class Refused extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export async function call<Name extends CallName>(
  name: Name,
  input: Calls[Name]["in"],
): Promise<Calls[Name]["out"]> {
  let response: Response;
  try {
    response = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-esim-webhooks-dashboard": "1" },
      body: JSON.stringify(input),
    });
  } catch {
    throw new Refused({
      code: "no_answer",
      message: "The server did not answer. Check that it is running and that this machine reaches it.",
    });
  }
  const answer = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer;
  throw new Refused(
    typeof answer?.code === "string" ? answer : { ...(statuses[response.status] ?? unexpected(response)) },
  );
}

/** An answer without a failure of ours: `authorize` refused, or a proxy answered. */
const statuses: Readonly<Record<number, Failure>> = {
  404: {
    code: "not_authorized",
    message: "You are no longer signed in, or may not see this dashboard. Sign in, and reload the page.",
  },
};

function unexpected({ status }: Response): Failure {
  return {
    code: `http_${status}`,
    message: `The server answered ${status} without saying why. Its log, or that of a proxy before it, says more.`,
  };
}

export function failureOf(error: unknown): Failure {
  if (error instanceof Refused) return error.failure;
  return { code: "page_error", message: `The page failed: ${String(error)}. Reload it.` };
}
