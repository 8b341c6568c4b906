/** The frame of guided steps: where one is, the step, and the way on. */
import type { ReactNode } from 'react';
import { SandboxBanner } from '../../frame/page.tsx';
import { useText } from '../../i18n.ts';
import { ShapeIcon } from '../../parts/icons.tsx';
import { href } from '../../router.ts';
import './first-run.css';
import TEXTS from './texts.ts';

type StepsProps = {
  title: string;
  names: readonly string[];
  at: number;
  network: string | undefined;
  /** The way out of the steps. */
  leave: string;
  children: ReactNode;
  /** The buttons at the foot; a step with a form has its button in the form. */
  foot?: ReactNode;
};

export function Steps({ title, names, at, network, leave, children, foot }: StepsProps): ReactNode {
  const t = useText(TEXTS);
  return (
    <div className="first">
      <nav className="first-steps" aria-label={title}>
        <h1>Countinghouse</h1>
        <p className="quiet">
          {title} · {t('step', { n: at + 1, all: names.length })}
        </p>
        <ol>
          {names.map((name, n) => (
            <li key={name} aria-current={n === at ? 'step' : undefined} className={n === at ? 'now' : ''}>
              <span className={`state ${n < at ? 'good' : n === at ? 'main' : 'quiet'}`}>
                <ShapeIcon shape={n < at ? 'done' : n === at ? 'seen' : 'waiting'} size={20} />
              </span>
              {name}
            </li>
          ))}
        </ol>
        <a href={href('home')}>{leave}</a>
      </nav>
      <div className="first-page">
        <SandboxBanner network={network} />
        <main id="content" className="first-content" key={at}>
          {children}
        </main>
        {foot && <footer className="first-foot">{foot}</footer>}
      </div>
    </div>
  );
}

export function Head({ title, note }: { title: string; note: ReactNode }): ReactNode {
  return (
    <header className="first-head">
      <h2>{title}</h2>
      <p>{note}</p>
    </header>
  );
}
