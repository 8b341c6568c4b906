/** The state of a payment link: a sign and its word. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import type { Translate } from '../../i18n.ts';
import { State } from '../../parts/parts.tsx';
import type TEXTS from './texts.ts';

export type T = Translate<keyof (typeof TEXTS)['en']>;
export type Link = Result<'link.show'>['link'];

const STATES = { open: ['done', 'good'], ended: ['ended', 'quiet'], sold_out: ['ended', 'quiet'] } as const;
const STATE_TEXT = { open: 'open', ended: 'ended', sold_out: 'soldOut' } as const;

export function LinkState({ link, t }: { link: Link; t: T }): ReactNode {
  const [shape, tone] = STATES[link.state];
  return (
    <State shape={shape} tone={tone}>
      {t(STATE_TEXT[link.state])}
    </State>
  );
}
