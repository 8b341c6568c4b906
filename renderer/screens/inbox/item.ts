/** A deposit in the inbox, as its list and its decision show it. */
import type { Result } from '../../bridge.ts';
import type { Translate } from '../../i18n.ts';
import { shortName } from '../../parts/parts.tsx';
import type TEXTS from './texts.ts';

export type T = Translate<keyof (typeof TEXTS)['en']>;
export type Item = Result<'inbox.list'>['items'][number];

/** No invoice counts another coin or network by itself. */
export const isElsewhere = ({ reason }: Item): boolean => reason === 'wrong-network' || reason === 'unexpected';

/** With its network, where that matters. */
export const coinOf = (item: Item): string => (isElsewhere(item) ? item.crypto : shortName(item.crypto));
