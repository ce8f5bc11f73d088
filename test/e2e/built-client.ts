/** A program that uses all of the client, as it is or bundled as a page or a worker would load it. */
import { build } from "esbuild";

/** What the program finds out: see {@link bundleProgram}. */
export interface Found {
  /** Whether the runtime has Node's Buffer, which the client must not need. */
  readonly hasBuffer: boolean;
  readonly states: readonly string[];
  readonly output: unknown;
  readonly plan: readonly string[];
  readonly trace: boolean;
  /** Raw bytes, there and back. */
  readonly bytes: readonly number[];
  readonly percent: number;
  /** The delivery's task, checked by secret and by public key. */
  readonly webhooks: readonly (string | undefined)[];
  readonly forged: string;
  /** What a gateway signs with. */
  readonly keys: number;
  readonly unknown: string;
}

/** A delivery that was signed elsewhere. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly secret: string;
  readonly publicKey: string;
}

const PROGRAM = `
  import { createA2aClient, createA2aHandler, toProgressEvent, verifyWebhook } from "@nylorun/agents/a2a";

  /** Uses the client against a Runtime's agent of every word. */
  export async function check({ url, key, delivery, privateKey }) {
    const agent = await createA2aClient({ url, auth: key, pollMs: 50 });
    const task = await agent.send("approve");
    const states = [];
    for await (const now of task.updates({ signal: AbortSignal.timeout(20000) })) {
      if (states.at(-1) !== now.state) states.push(now.state);
      if (now.interaction?.kind === "approval") await task.approve(true);
    }
    const raw = [{ raw: "AAEC/w==", mediaType: "application/octet-stream" }];
    const mirrored = await (await agent.send(raw)).done({ signal: AbortSignal.timeout(20000) });
    const { body, headers, secret, publicKey } = delivery;
    // A page without TLS has no Web Crypto: it can call, and neither check public keys nor sign.
    const isSecure = crypto.subtle !== undefined;
    const request = () => new Request("https://example.com/hook", { method: "POST", body, headers });
    const forget = () => ({ add: () => true, delete: () => undefined });
    const bySecret = await verifyWebhook(request(), { secrets: [secret], seen: forget() });
    const byKey = isSecure && await verifyWebhook(request(), { publicKeys: [publicKey], seen: forget() });
    const forged = await verifyWebhook(new Request(request(), { body: body + " " }), { secrets: [secret] }).catch((error) => error.code);
    const gateway = isSecure && await createA2aHandler({
      agents: ["x"], runtimeUrl: url, publicUrl: "https://example.com/a2a", subject: () => "ada",
      signer: { issuer: "i", audience: "a", privateKey },
    });
    const keys = isSecure && (await (await gateway(new Request("https://example.com/a2a/.well-known/jwks.json"))).json()).keys;
    const unknown = await agent.task("AAAAAAAAAAAAAAAAAAAAAA").catch((error) => error.code);
    const answered = mirrored.message.parts[0].raw;
    return {
      hasBuffer: typeof globalThis.Buffer !== "undefined",
      states, output: task.output, plan: task.plan?.steps.map(({ state }) => state), trace: /^[0-9a-f]{32}$/.test(task.traceId),
      bytes: [...Uint8Array.from(atob(answered), (character) => character.charCodeAt(0))],
      percent: toProgressEvent(task).percent,
      webhooks: [bySecret.taskId, byKey.taskId], forged, keys: keys.length, unknown,
    };
  }
`;

/** The program as it is, for whatever finds packages by itself. @param rest More of its code. */
export function programWith(rest: string): string {
  return PROGRAM + rest;
}

/** Bundles the program with the packages that are installed in a project. @param rest More of the program's code. */
export async function bundleProgram(project: string, rest = ""): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: PROGRAM + rest, resolveDir: project, loader: "js" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    write: false,
  });
  return outputFiles[0]!.text;
}

export const EXPECTED: Omit<Found, "hasBuffer" | "states"> = {
  output: "Approved.",
  plan: ["done"],
  trace: true,
  bytes: [0, 1, 2, 255],
  percent: 100,
  webhooks: ["t1", "t1"],
  forged: "webhook.forged",
  keys: 1,
  unknown: "a2a.taskNotFound",
};
