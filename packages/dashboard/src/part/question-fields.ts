/**
 * A question's JSON Schema as fields of a form: texts, numbers, choices, yes or no, and objects of those. What is none of these is asked
 * for as JSON. The agent's Runtime checks the answer; the form only spares the person most of the mistakes.
 */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";

import { straight } from "../model/words.ts";

type Schema = Readonly<Record<string, unknown>>;

type Kind =
  | { readonly kind: "text"; readonly long: boolean; readonly type: string }
  | { readonly kind: "number"; readonly whole: boolean }
  | { readonly kind: "yes" }
  | { readonly kind: "choice"; readonly choices: readonly unknown[] }
  | { readonly kind: "some"; readonly choices: readonly unknown[] }
  | { readonly kind: "json" };

export interface Field {
  /** Of an object; undefined: the answer is this one value. */
  readonly property: string | undefined;
  readonly label: string;
  readonly description: string | undefined;
  readonly required: boolean;
  readonly schema: Schema;
  readonly as: Kind;
}

/** Fields of one object. More are asked for as JSON. */
const MOST = 30;
/** Choices that are all shown; more are a list to open. */
const SHOWN_CHOICES = 8;

export function fieldsOf(schema: Schema, label: string): readonly Field[] {
  const { properties } = schema;
  const entries = isObject(properties) && schema["type"] !== "array" ? Object.entries(properties) : [];
  if (entries.length === 0 || entries.length > MOST || !entries.every(([, one]) => isObject(one))) {
    return [fieldOf(schema, { property: undefined, label: textOf(schema["title"]) ?? label, required: true })];
  }
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return entries.map(([property, one]) => {
    const own = one as Schema;
    return fieldOf(own, {
      property,
      label: textOf(own["title"]) ?? straight(property),
      required: required.includes(property),
    });
  });
}

function fieldOf(schema: Schema, rest: Pick<Field, "property" | "label" | "required">): Field {
  return { ...rest, description: textOf(schema["description"]), schema, as: kindOf(schema) };
}

const FORMATS: Readonly<Record<string, string>> = { date: "date", email: "email", uri: "url", time: "time" };

function kindOf(schema: Schema): Kind {
  const { type, items, format, maxLength } = schema;
  const choices = choicesOf(schema);
  if (choices !== undefined) return { kind: "choice", choices };
  if (type === "string") {
    const long = typeof maxLength === "number" && maxLength > 200;
    return { kind: "text", long, type: FORMATS[String(format)] ?? "text" };
  }
  if (type === "number" || type === "integer") return { kind: "number", whole: type === "integer" };
  if (type === "boolean") return { kind: "yes" };
  const some = type === "array" && isObject(items) ? choicesOf(items) : undefined;
  return some === undefined ? { kind: "json" } : { kind: "some", choices: some };
}

function choicesOf({ enum: values }: Schema): readonly unknown[] | undefined {
  return Array.isArray(values) && values.length > 0 && values.length <= 500 ? values : undefined;
}

/** @param name Of the control, in its form. */
export function fieldInput(field: Field, name: string): TemplateResult {
  const { label, description, required, as } = field;
  const hint = description === undefined ? nothing : html`<span class="hint" id="${name}-hint">${description}</span>`;
  const described = description === undefined ? nothing : `${name}-hint`;
  const optional = required || as.kind === "yes" ? nothing : html` <span class="optional">optional</span>`;
  if (as.kind === "yes") {
    return html`<label class="check"
        ><input type="checkbox" name=${name} aria-describedby=${described} /> ${label}</label
      >${hint}`;
  }
  if ((as.kind === "choice" && as.choices.length <= SHOWN_CHOICES) || as.kind === "some") {
    const type = as.kind === "choice" ? "radio" : "checkbox";
    return html`<fieldset class="choices">
      <legend>${label}${optional}</legend>
      ${hint}
      ${as.choices.map(
        (choice, index) =>
          html`<label class="choice"
            ><input type=${type} name=${name} value=${index} ?required=${required && type === "radio"} /><span
              >${said(choice)}</span
            ></label
          >`,
      )}
    </fieldset>`;
  }
  return html`<div class="field">
    <label for=${name}>${label}${optional}</label>
    ${hint} ${control(field, name, described)}
  </div>`;
}

function control({ as, required, schema }: Field, name: string, described: unknown): TemplateResult | typeof nothing {
  const { minimum, maximum, minLength, maxLength } = schema;
  switch (as.kind) {
    case "text":
      return as.long
        ? html`<textarea
            id=${name}
            name=${name}
            rows="4"
            ?required=${required}
            maxlength=${numberOf(maxLength)}
            aria-describedby=${described}
          ></textarea>`
        : html`<input
            id=${name}
            name=${name}
            type=${as.type}
            ?required=${required}
            minlength=${numberOf(minLength)}
            maxlength=${numberOf(maxLength)}
            aria-describedby=${described}
            autocomplete="off"
          />`;
    case "number":
      return html`<input
        id=${name}
        name=${name}
        type="number"
        inputmode=${as.whole ? "numeric" : "decimal"}
        step=${as.whole ? "1" : "any"}
        min=${numberOf(minimum)}
        max=${numberOf(maximum)}
        ?required=${required}
        aria-describedby=${described}
      />`;
    case "choice":
      return html`<select id=${name} name=${name} ?required=${required} aria-describedby=${described}>
        <option value="">Choose…</option>
        ${as.choices.map((choice, index) => html`<option value=${index}>${said(choice)}</option>`)}
      </select>`;
    case "json":
      return html`<textarea
        id=${name}
        name=${name}
        rows="5"
        class="code"
        spellcheck="false"
        ?required=${required}
        placeholder="JSON"
        aria-describedby=${described}
      ></textarea>`;
    case "yes":
    case "some":
      return nothing;
  }
}

/** A field is not what it must be, in words for the person. */
class Unfit extends Error {
  override readonly name = "Unfit";
}

/** What the form says. @throws Unfit in words for the person: which field is not what it must be. */
export function answerOf(fields: readonly Field[], form: FormData): unknown {
  const values = fields.map(
    (field, index) => [field, valueOf(field, form.getAll(`field-${index}`).map(String))] as const,
  );
  const [only] = values;
  if (only !== undefined && only[0].property === undefined) return only[1];
  return Object.fromEntries(
    values.flatMap(([{ property }, value]) => (value === undefined ? [] : [[property, value]])),
  );
}

function valueOf({ label, required, as }: Field, given: readonly string[]): unknown {
  const [text = ""] = given;
  const missing = (): undefined => {
    if (required) throw new Unfit(`${label} is missing.`);
    return undefined;
  };
  switch (as.kind) {
    case "yes":
      return text === "on";
    case "some":
      return given.map((index) => as.choices[Number(index)]);
    case "choice":
      return text === "" ? missing() : as.choices[Number(text)];
    case "number": {
      if (text.trim() === "") return missing();
      const number = Number(text);
      if (!Number.isFinite(number)) throw new Unfit(`${label} must be a number.`);
      return number;
    }
    case "text":
      return text === "" && !required ? undefined : text;
    case "json":
      if (text.trim() === "") return missing();
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new Unfit(`${label} must be JSON, such as {"name": "Ada"} or "text".`);
      }
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? straight(value) : undefined;
}

function numberOf(value: unknown): number | typeof nothing {
  return typeof value === "number" && Number.isFinite(value) ? value : nothing;
}

function said(value: unknown): string {
  return straight(typeof value === "string" ? value : JSON.stringify(value));
}
