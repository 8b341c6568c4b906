/** The operator API's methods about backups and what comes back from one. */
import { z } from 'zod';

const PATH_CHARS_MAX = 4_096;

const Nothing = z.strictObject({});
const method = <P extends z.ZodType, R extends z.ZodType>(params: P, result: R) => ({ params, result });

export const RECOVERY = {
  /** Makes a backup at an absolute path of the daemon's machine and answers when it is whole. */
  'backup.make': method(
    z.strictObject({ file: z.string().min(1).max(PATH_CHARS_MAX) }),
    z.object({ file: z.string(), bytes: z.int().min(0), made_at: z.string(), fingerprint: z.string() }),
  ),
  /** Whether this service was restored and waits for the operator's word. */
  'restore.status': method(
    Nothing,
    z.object({
      quarantined: z.boolean(),
      since: z.string().nullable(),
      backup_made_at: z.string().nullable(),
      /** Whether the skipped addresses are all watched, so that the quarantine can end. */
      ready: z.boolean(),
    }),
  ),
  /** Ends the quarantine. */
  'restore.confirm': method(Nothing, z.object({})),
} as const;
