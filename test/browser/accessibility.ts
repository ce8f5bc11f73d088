/** What assistive technology gets of a page: Chromium's own accessibility tree, and axe's opinion. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { AxeResults } from "axe-core";
import type { CDPSession, Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxValue {
  readonly value?: unknown;
}

interface AxNode {
  readonly nodeId: string;
  readonly backendDOMNodeId: number;
  readonly ignored: boolean;
  readonly role?: AxValue;
  readonly name?: AxValue;
  readonly value?: AxValue;
  readonly properties?: readonly { readonly name: string; readonly value: AxValue }[];
  readonly childIds?: readonly string[];
}

/** One line for each node below the page, indented: `progressbar "claude:report" = 42 (Reasoning, 42%)`, `status [polite]`. */
export async function accessibilityTree(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  try {
    const { nodes } = (await session.send("Accessibility.getFullAXTree")) as { readonly nodes: readonly AxNode[] };
    const byId = new Map(nodes.map((node) => [node.nodeId, node]));
    const write = async ({ nodeId, childIds = [] }: AxNode, depth: number): Promise<string[]> => {
      const node = byId.get(nodeId)!;
      const told = !node.ignored && !["generic", "InlineTextBox"].includes(String(node.role?.value));
      const lines = told ? [`${"  ".repeat(depth)}${lineOf(node, await valueText(session, node))}`] : [];
      for (const id of childIds) lines.push(...(await write(byId.get(id)!, told ? depth + 1 : depth)));
      return lines;
    };
    const [root] = nodes;
    return (await write(root!, 0)).slice(1).join("\n").replaceAll(/^ {2}/gm, "");
  } finally {
    await session.detach();
  }
}

/** The protocol leaves it empty. */
async function valueText(session: CDPSession, { backendDOMNodeId: backendNodeId, role }: AxNode): Promise<string> {
  if (role?.value !== "progressbar") return "";
  const { node } = await session.send("DOM.describeNode", { backendNodeId });
  const { attributes = [] } = node;
  const at = attributes.indexOf("aria-valuetext");
  return at === -1 ? "" : ` (${attributes[at + 1]})`;
}

function lineOf({ role, name, value, properties = [] }: AxNode, valuetext: string): string {
  const live = properties.find((property) => property.name === "live")?.value.value;
  const parts = [
    String(role?.value),
    name?.value ? ` ${JSON.stringify(name.value)}` : "",
    value === undefined || value.value === "" ? "" : ` = ${String(value.value)}`,
    valuetext,
    typeof live === "string" ? ` [${live}]` : "",
  ];
  return parts.join("");
}

/** What axe finds wrong once all motion has come to its end, a line for each: the rule, how bad, where. Empty: nothing. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(() => {
    const roots: (Document | ShadowRoot)[] = [document];
    for (const root of roots) {
      for (const animation of root.getAnimations()) {
        // One that goes on for ever has no end to come to.
        if (animation.effect?.getComputedTiming().endTime !== Infinity) animation.finish();
      }
      for (const { shadowRoot } of root.querySelectorAll("*")) if (shadowRoot !== null) roots.push(shadowRoot);
    }
  });
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(
    async () => await (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
  );
  return violations.map(({ id, impact, help, nodes }) => {
    const where = nodes.map(({ target, failureSummary }) => `${String(target)}: ${failureSummary ?? ""}`).join("; ");
    return `${id} (${impact ?? "?"}): ${help} at ${where}`;
  });
}
