/** The side of forwarding that the payments see. */
import type { ForwardingPort } from '../spends/ports.ts';
import { takeIndex } from './payee.ts';
import { stopRun } from './payments.ts';

export const forwardingPort: ForwardingPort = { gasRefused: stopRun, indexRefused: takeIndex };
