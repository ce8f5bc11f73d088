/** The profile of a CSV for people: a page in Markdown, and a picture of how full its columns are. */
import type { ColumnProfile } from "./column.ts";
import type { Outliers } from "./outliers.ts";

export interface Profile {
  readonly rows: number;
  readonly columns: readonly (ColumnProfile & { readonly outliers?: Outliers })[];
}

type Column = Profile["columns"][number];

/** Columns in the picture: more would be no picture. */
const drawn = 40;

export function markdown(name: string, { rows, columns }: Profile): string {
  const lines = columns.map((column) => {
    const { type, values, missing, distinct, numbers, dates } = column;
    const spread = numbers
      ? `${numbers.min} … ${numbers.quantiles.p50} … ${numbers.max}`
      : dates
        ? `${dates.earliest} … ${dates.latest}`
        : "";
    const cells = [
      cell(column.name),
      type,
      values,
      missing,
      `${distinct.count}${distinct.atLeast ? "+" : ""}`,
      cell(spread),
    ];
    return `| ${[...cells, column.outliers?.count ?? ""].join(" | ")} |`;
  });
  return [
    `# ${cell(name)}`,
    "",
    `${rows.toLocaleString("en")} rows, ${columns.length} columns. How full they are: [chart.svg](chart.svg).`,
    "",
    "| column | type | values | missing | distinct | least … middle … most | outliers |",
    "|---|---|--:|--:|--:|---|--:|",
    ...lines,
    "",
    ...columns.flatMap(oddities),
  ].join("\n");
}

/** What in a column may be a mistake. */
function oddities({ name, outliers, mostly }: Column): readonly string[] {
  const found: string[] = [];
  if (outliers !== undefined && outliers.count > 0) {
    const examples = outliers.examples.slice(0, 5).map(({ row, value }) => `${value} in row ${row}`);
    found.push(`- **${cell(name)}**: outside ${outliers.low} to ${outliers.high} are ${examples.join(", ")}.`);
  }
  if (mostly !== undefined) {
    const examples = mostly.exceptions.examples
      .slice(0, 5)
      .map(({ row, value }) => `${cell(JSON.stringify(value))} in row ${row}`);
    found.push(`- **${cell(name)}**: nearly all are ${mostly.type}, but ${examples.join(", ")}.`);
  }
  return found;
}

/** A bar for each column: the share of its rows that hold something. */
export function chart({ rows, columns }: Profile): string {
  const bars = columns.slice(0, drawn).map(({ name, type, values }, index) => {
    const share = rows === 0 ? 0 : values / rows;
    const y = 20 + index * 28;
    return [
      `<text x="210" y="${y + 14}" text-anchor="end">${xml(short(name))}</text>`,
      `<rect x="220" y="${y}" width="300" height="20" fill="#e5e7eb"/>`,
      `<rect x="220" y="${y}" width="${Math.round(300 * share)}" height="20" fill="#2563eb"/>`,
      `<text x="530" y="${y + 14}">${Math.floor(share * 100)} % · ${type}</text>`,
    ].join("");
  });
  const height = 40 + bars.length * 28;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 ${height}" width="680" height="${height}" role="img" font-family="sans-serif" font-size="13">` +
    `<title>How full each column is</title><rect width="680" height="${height}" fill="#fff"/>${bars.join("")}</svg>\n`
  );
}

/** Of a table, and of a line: what a CSV says cannot end either. */
function cell(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|#]/g, (sign) => `\\${sign}`).replaceAll(/\s+/g, " ");
}

function short(text: string): string {
  const letters = [...text.replaceAll(/\s+/g, " ")];
  return letters.length > 28 ? `${letters.slice(0, 27).join("")}…` : letters.join("");
}

function xml(text: string): string {
  const signs: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // What XML has no place for is left out.
  return text
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "")
    .replaceAll(/[&<>"]/g, (sign) => signs[sign]!);
}
