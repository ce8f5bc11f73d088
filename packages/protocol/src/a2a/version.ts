/**
 * Which version of A2A a request speaks (A2A 1.0, section 3.6). Only Major.Minor counts.
 */
import { versionNotSupported } from "./errors.ts";

/** The one version that is served. */
export const A2A_VERSION = "1.0";

/** What a request that names no version means by that (section 3.6.2). */
const UNNAMED = "0.3";

/**
 * @param header `A2A-Version` of the request.
 * @param query The query parameter of that name, which counts when the header is absent or empty.
 * @returns The version, always {@link A2A_VERSION}.
 * @throws A2aError -32009, with `supportedVersions` in its metadata.
 */
export function negotiateVersion(header?: string | null, query?: string | null): typeof A2A_VERSION {
  const asked = header?.trim() || query?.trim() || UNNAMED;
  const version = /^(\d+\.\d+)(?:\.\d+)?$/.exec(asked)?.[1] ?? asked;
  if (version !== A2A_VERSION) throw versionNotSupported(version, A2A_VERSION);
  return version;
}
