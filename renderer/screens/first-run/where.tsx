/** Where the keys live: three answers to the same five questions, the thief first. One answer is carried out on another computer. */
import { type ReactNode, useId } from 'react';
import { useData } from '../../data.tsx';
import { type Translate, useText } from '../../i18n.ts';
import { Icon, type IconName, ShapeIcon } from '../../parts/icons.tsx';
import { Foreign, Notice } from '../../parts/parts.tsx';
import { Code } from '../developers/connect.tsx';
import { Head } from './steps.tsx';
import './where.css';
import TEXTS from './where-texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;

/** `elsewhere`: in a wallet that is no part of this program. */
export type Where = 'here' | 'home' | 'elsewhere';

const ANSWERS = ['here', 'home', 'elsewhere'] as const;
const ICONS: Readonly<Record<Where, IconName>> = { here: 'server', home: 'laptop', elsewhere: 'device' };
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Whether the page came from another machine, such as a rented server. */
export const useIsFar = (): boolean => useData().session.place === 'browser' && !LOOPBACK.test(location.hostname);

type WhereProps = { value: Where; choose(where: Where): void };

export function WhereKeys({ value, choose }: WhereProps): ReactNode {
  const t = useText(TEXTS);
  const isFar = useIsFar();
  const name = useId();
  return (
    <>
      <Head title={t('title')} note={t('note')} />
      <fieldset className="wheres">
        <legend className="unseen">{t('title')}</legend>
        {ANSWERS.map((one) => (
          <div key={one} className={one === value ? 'where chosen' : 'where'}>
            <label className="where-name">
              <input type="radio" name={name} checked={one === value} onChange={() => choose(one)} />
              <span>
                <strong>{t(one)}</strong>
                <span className="quiet">
                  {one === 'here' && isFar ? <Foreign text={location.hostname} /> : t(`note_${one}`)}
                </span>
              </span>
              <Icon name={ICONS[one]} />
            </label>
            <Answer of={one} isBest={one === 'home' && isFar} t={t} />
          </div>
        ))}
      </fieldset>
    </>
  );
}

/** The rows of all answers stand side by side. */
function Answer({ of, isBest, t }: { of: Where; isBest: boolean; t: T }): ReactNode {
  const isSafe = of !== 'here';
  return (
    <>
      <p className={isBest ? 'where-suits best' : 'where-suits'}>{t(`suits_${of}`)}</p>
      <div className="where-thief">
        <p className="quiet">{t('thief')}</p>
        <p className={isSafe ? 'state good' : 'state bad'}>
          <ShapeIcon shape={isSafe ? 'done' : 'failed'} />
          <strong>{t(isSafe ? 'takesNothing' : 'takesAll')}</strong>
        </p>
        <p>{t(`thief_${of}`)}</p>
      </div>
      <Row name={t('pay')} text={t(`pay_${of}`)} />
      <Row name={t('coins')} text={t(of === 'elsewhere' ? 'someCoins' : 'allCoins')} />
      <Row name={t('need')} text={t(`need_${of}`)} />
    </>
  );
}

const Row = ({ name, text }: { name: string; text: string }): ReactNode => (
  <div className="where-row">
    <p className="quiet">{name}</p>
    <p>{text}</p>
  </div>
);

/** `hasWallet`: words are on this server already, and none of them can be taken off it. */
export function AtHome({ hasWallet }: { hasWallet: boolean }): ReactNode {
  const t = useText(TEXTS);
  const server = 'countinghouse --server SERVER';
  return (
    <>
      <Head title={t('homeTitle')} note={t('homeSteps')} />
      {hasWallet && (
        <Notice tone="warn" title={t('homeHas')}>
          <p>{t('homeHasText')}</p>
          <Code text="countinghouse signer move" />
        </Notice>
      )}
      <ol className="where-steps">
        <li>
          <p>{t('invite')}</p>
          <Code text="countinghouse signer invite" />
        </li>
        <li>
          <p>{t('join')}</p>
          <Code text="countinghouse signer join SERVER" />
        </li>
        <li>
          <p>{t('add')}</p>
          <Code text={`${server} business add --name "My shop" --network mainnet`} />
          <Code text={`${server} signer run`} />
          <Code text={`${server} wallet unlock`} />
        </li>
      </ol>
    </>
  );
}
