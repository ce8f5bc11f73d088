/**
 * Files of a task: which version, how large, which bytes. Downloads are held against that before they are handed over, and what is said
 * of one is what was checked: of a folder that is the list of its files, which is what is downloaded.
 */
import type { RemoteFile } from "@nylorun/agents/a2a";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";

import { saying } from "../model/session.ts";
import { size, straight } from "../model/words.ts";
import { define, LightElement } from "./light.ts";

type Outcome =
  | { readonly kind: "loading" | "verified" | "listVerified" | "unverified" }
  | { readonly kind: "failed"; readonly words: string };

/** Larger ones are for a program. In bytes. */
const LARGEST = 512 * 1024 * 1024;

export class FileList extends LightElement {
  static override properties = { files: { attribute: false }, outcomes: { state: true } };
  declare files: readonly RemoteFile[];
  declare outcomes: ReadonlyMap<string, Outcome>;

  constructor() {
    super();
    this.files = [];
    this.outcomes = new Map();
  }

  protected override render(): TemplateResult {
    return html`<ul class="files">
      ${repeat(this.files, keyOf, (file) => this.#file(file))}
    </ul>`;
  }

  #file(file: RemoteFile): TemplateResult {
    const { name, path, version, sha256, mediaType, kind } = file;
    const outcome = this.outcomes.get(keyOf(file));
    const facts = [
      kind === "folder" ? "folder" : mediaType,
      file.size === undefined ? undefined : size(file.size),
      version === undefined ? undefined : `version ${version}`,
    ];
    return html`<li class="file">
      <span class="file-name" title=${path ?? name}>${straight(path ?? name)}</span>
      <button
        type="button"
        class="quiet"
        ?disabled=${outcome?.kind === "loading"}
        @click=${() => void this.#download(file)}
      >
        ${outcome?.kind === "loading" ? "Checking…" : "Download"}<span class="unseen"> ${name}</span>
      </button>
      <span class="file-facts">${facts.filter((fact) => fact !== undefined).join(" · ")}</span>
      ${
        sha256 === undefined
          ? nothing
          : html`<span class="file-hash" title="SHA-256: ${sha256}"
              ><span class="unseen">SHA-256 </span>${sha256}</span
            >`
      }
      <span class="file-outcome" role="status" data-tone=${outcome?.kind === "failed" ? "bad" : "good"}
        >${said(outcome)}</span
      >
    </li>`;
  }

  async #download(file: RemoteFile): Promise<void> {
    const note = (outcome: Outcome): void => {
      this.outcomes = new Map(this.outcomes).set(keyOf(file), outcome);
    };
    note({ kind: "loading" });
    try {
      const bytes = await file.bytes({ maxBytes: LARGEST });
      // As a download, whatever it says it is: nothing an agent wrote is opened as a page.
      const blob = new Blob([new Uint8Array(bytes)], { type: "application/octet-stream" });
      const href = URL.createObjectURL(blob);
      const link = document.createElement("a");
      link.href = href;
      link.download = straight(file.kind === "folder" ? `${file.name}.json` : file.name);
      link.click();
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
      note({ kind: checkOf(file) });
    } catch (error) {
      note({ kind: "failed", words: saying(error) });
    }
  }
}

function keyOf({ artifactId, version, name }: RemoteFile): string {
  return `${artifactId} ${version} ${name}`;
}

/** What a download that came through was held against. */
function checkOf({ sha256, kind }: RemoteFile): "verified" | "listVerified" | "unverified" {
  if (sha256 === undefined) return "unverified";
  return kind === "folder" ? "listVerified" : "verified";
}

function said(outcome: Outcome | undefined): string {
  switch (outcome?.kind) {
    case "verified":
      return "Size and SHA-256 verified.";
    case "listVerified":
      return "SHA-256 of the list of its files verified. The files are not in it.";
    case "unverified":
      return "Downloaded. The agent gave no hash to check it by.";
    case "failed":
      return outcome.words;
    case "loading":
    case undefined:
      return "";
  }
}

define("file-list", FileList);

declare global {
  interface HTMLElementTagNameMap {
    "file-list": FileList;
  }
}
