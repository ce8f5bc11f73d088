/**
 * A trail of what operators do, in the log: whoever looks later must find out that something was settled, revoked or erased, and when. It has ids
 * and verdicts, and nothing that callers wrote; of who was erased, not even the name.
 */
import type { Operations } from "../http/operations.ts";
import type { Log } from "./log.ts";

export function withAudit(operations: Operations, log: Log): Operations {
  const note = (operation: string, fields: object = {}): void =>
    log.info({ operation, ...fields }, "An operator did this.");
  return {
    ...operations,
    async addKey(holder) {
      const made = await operations.addKey(holder);
      note("addKey", { key: made.record.id, role: holder.role });
      return made;
    },
    async revokeKey(id) {
      await operations.revokeKey(id);
      note("revokeKey", { key: id });
    },
    async releaseTurn(taskId) {
      await operations.releaseTurn(taskId);
      note("releaseTurn", { task: taskId });
    },
    async failTurn(taskId, reason) {
      await operations.failTurn(taskId, reason);
      note("failTurn", { task: taskId });
    },
    async resolveEffect(effectId, resolution) {
      await operations.resolveEffect(effectId, resolution);
      note("resolveEffect", { effect: effectId, outcome: resolution.outcome });
    },
    async resendDelivery(id) {
      await operations.resendDelivery(id);
      note("resendDelivery", { delivery: id });
    },
    async rotateWebhookKey() {
      await operations.rotateWebhookKey();
      note("rotateWebhookKey");
    },
    async erase(what) {
      const erased = await operations.erase(what);
      note("erase", { what: what.what, turns: erased.turns });
      return erased;
    },
    async backup(file) {
      const files = await operations.backup(file);
      note("backup", { file });
      return files;
    },
  };
}
