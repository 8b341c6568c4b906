/** For the people who connect a shop: keys, client IDs, what was sent to it, the sandbox's controls, the API. */
import type { ReactNode } from 'react';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { type Translate, useText } from '../../i18n.ts';
import { Segments } from '../../parts/controls.tsx';
import { go, href, useHashRoute } from '../../router.ts';
import { Connect } from './connect.tsx';
import './developers.css';
import { Log } from './log.tsx';
import { Reference } from './reference.tsx';
import { SandboxTools } from './sandbox.tsx';
import TEXTS from './texts.ts';

export type T = Translate<keyof (typeof TEXTS)['en']>;

const PARTS = ['connect', 'log', 'sandbox', 'reference'] as const;
type Part = (typeof PARTS)[number];

export default function Developers(): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  const hashRoute = useHashRoute();
  const part = PARTS.find((one) => one === hashRoute.parts[0]) ?? 'connect';
  return (
    <Page title={t('developers')} note={<span className="wide-only">{t('about')}</span>}>
      <div className="developers-parts">
        <Segments<Part>
          label={t('part')}
          value={part}
          options={PARTS.map((one) => [one, t(one)] as const)}
          onChange={(one) => go(href('developers', one))}
        />
      </div>
      {business && part === 'connect' && <Connect key={business.id} business={business} t={t} />}
      {business && part === 'log' && <Log key={business.id} business={business} t={t} />}
      {business && part === 'sandbox' && <SandboxTools key={business.id} business={business} t={t} />}
      {part === 'reference' && <Reference t={t} />}
    </Page>
  );
}
