/** Who can open the payment pages: the verdict, the four ways, a test with a telephone, and how each way is set up. */
import { type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { type Translate, useText } from '../../i18n.ts';
import { Field, Segments } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Icon, type IconName, type Shape } from '../../parts/icons.tsx';
import { Answer, Copy, Notice, Problem, State, type Tone } from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import './reach.css';
import TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;
type ReachReport = Result<'reach.show'>;

const READ_EVERY_MS = 2_000;

export function Reach(): ReactNode {
  const t = useText(TEXTS);
  const found = useCall('reach.show', {}, { every: READ_EVERY_MS });
  return (
    <Answer of={found}>
      {(data) => (
        <div className="reach">
          <div className="reach-ways">
            <Verdict data={data} t={t} />
            <Ways data={data} t={t} />
            <SetUp data={data} t={t} />
          </div>
          <Test data={data} t={t} />
        </div>
      )}
    </Answer>
  );
}

function Verdict({ data: { reach, tested }, t }: { data: ReachReport; t: T }): ReactNode {
  const { full } = useTimes();
  const isOpen = reach === 'everybody' || reach === 'onion';
  const tone: Tone = isOpen ? (tested ? 'good' : 'main') : reach === 'network' ? 'warn' : 'quiet';
  const title = isOpen && !tested ? t('untested') : t(reach);
  return (
    <Notice tone={tone} title={title}>
      {isOpen && tested ? t('testedAt', { time: full(tested.at) }) : t(isOpen ? 'untestedNote' : `note_${reach}`)}
      {reach === 'onion' && ` ${t('note_onion')}`}
    </Notice>
  );
}

type Way = { name: 'computer' | 'network' | 'everybody' | 'onion'; icon: IconName; url: string | null };

function Ways({ data, t }: { data: ReachReport; t: T }): ReactNode {
  const of = (name: Way['name']): string | null => (data.reach === name ? data.url : null);
  const ways: Way[] = [
    { name: 'computer', icon: 'laptop', url: data.own_url },
    { name: 'network', icon: 'wifi', url: of('network') ?? data.network_url },
    { name: 'everybody', icon: 'globe', url: of('everybody') },
    { name: 'onion', icon: 'onion', url: of('onion') },
  ];
  return (
    <ul className="reach-list">
      {ways.map(({ name, icon, url }) => (
        <li key={name}>
          <Icon name={icon} />
          <div>
            <strong>{t(`way_${name}`)}</strong>
            <span className={url === null ? 'quiet' : 'quiet mono'}>
              {url ?? (name === 'computer' ? '' : t(`needs_${name}`))}
            </span>
          </div>
          <WayState data={data} name={name} isThere={url !== null} t={t} />
        </li>
      ))}
    </ul>
  );
}

function WayState({
  data,
  name,
  isThere,
  t,
}: {
  data: ReachReport;
  name: Way['name'];
  isThere: boolean;
  t: T;
}): ReactNode {
  const { clock } = useTimes();
  const state = (shape: Shape, tone: Tone, text: string): ReactNode => (
    <State shape={shape} tone={tone}>
      {text}
    </State>
  );
  if (!isThere) return state('ended', 'quiet', t('notSetUp'));
  if (data.reach === name && name !== 'computer') {
    return data.tested
      ? state('done', 'good', t('openedAt', { time: clock(data.tested.at) }))
      : state('waiting', 'quiet', t('notTested'));
  }
  return name === 'computer' ? state('done', 'good', t('opens')) : state('seen', 'main', t('listens'));
}

/** A page that takes no payment, to be opened on a telephone; both screens show the result. */
function Test({ data, t }: { data: ReachReport; t: T }): ReactNode {
  const { clock } = useTimes();
  const { up } = useConnection();
  const begin = useChange('reach.test', 'reach.');
  const { test } = data;
  const isFar = data.reach === 'everybody' || data.reach === 'onion';
  return (
    <section className="reach-test" aria-label={t('test')}>
      <h3>{t('test')}</h3>
      <p className="quiet">{t(data.reach === 'computer' ? 'testNone' : isFar ? 'testFar' : 'testNear')}</p>
      {test && !test.opened && (
        <>
          <QrCode text={test.url} label={t('testCode')} />
          <State shape="waiting" tone="quiet">
            {t('waits')}
          </State>
          <p className="quiet">{t('silence')}</p>
          <Copy text={test.url} label={t('send')} />
        </>
      )}
      {test?.opened && (
        <>
          <State shape="done" tone="good">
            {t('openedAt', { time: clock(test.opened.at, true) })}
          </State>
          <p className="quiet">{t(`from_${test.opened.network ?? 'proxy'}`)}</p>
        </>
      )}
      {data.reach !== 'computer' && (!test || test.opened) && (
        <button type="button" className="button" disabled={!up || begin.isPending} onClick={() => begin.mutate({})}>
          {t(test?.opened || data.tested ? 'testAgain' : 'testNow')}
        </button>
      )}
      {begin.error && <Problem error={begin.error} />}
    </section>
  );
}

const PORT = /:(\d+)$/;
const NAME = /^(?=.{4,253}$)(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z]{2,63}$/i;
type SetUpWay = 'network' | 'internet' | 'tor';

/** How a way is set up. The configuration is a file of the operator's, which no page writes. */
function SetUp({ data, t }: { data: ReachReport; t: T }): ReactNode {
  const [chosen, setChosen] = useState<SetUpWay>(data.reach === 'computer' ? 'network' : 'internet');
  const [name, setName] = useState('');
  const port = PORT.exec(data.own_url)?.[1] ?? '8480';
  const address = data.addresses[0];
  const isName = NAME.test(name.trim());
  const host = isName ? name.trim().toLowerCase() : 'pay.example.com';
  return (
    <details className="reach-set-up" open={data.reach === 'computer'}>
      <summary>{t('setUp')}</summary>
      <Segments<SetUpWay>
        label={t('setUp')}
        value={chosen}
        options={[
          ['network', t('way_network')],
          ['internet', t('way_everybody')],
          ['tor', 'Tor'],
        ]}
        onChange={setChosen}
      />
      {chosen === 'network' && (
        <>
          <p>{t(address === undefined ? 'noNetwork' : 'howNetwork')}</p>
          {address !== undefined && <Lines text={`host = "0.0.0.0"\npublic_url = "http://${address}:${port}"`} />}
        </>
      )}
      {chosen === 'internet' && (
        <>
          <p>{t('howInternet')}</p>
          <Field
            label={t('name')}
            value={name}
            placeholder="pay.example.com"
            error={name !== '' && !isName ? t('noName') : null}
            onChange={(event) => setName(event.target.value)}
          />
          <Lines
            text={`${host} {\n\trequest_body {\n\t\tmax_size 1MiB\n\t}\n\treverse_proxy 127.0.0.1:${port} {\n\t\tflush_interval -1\n\t}\n}`}
          />
          <p>{t('thenToml')}</p>
          <Lines text={`public_url = "https://${host}"\ntrusted_proxies = ["127.0.0.1"]`} />
        </>
      )}
      {chosen === 'tor' && (
        <>
          <p>{t('howTor')}</p>
          <Lines text={`HiddenServiceDir /var/lib/tor/countinghouse/\nHiddenServicePort 80 127.0.0.1:${port}`} />
          <p>{t('thenOnion')}</p>
          <Lines text='public_url = "http://….onion"' />
        </>
      )}
      {(chosen !== 'network' || address !== undefined) && <p className="quiet">{t('restart')}</p>}
    </details>
  );
}

const Lines = ({ text }: { text: string }): ReactNode => (
  <div className="reach-lines">
    <pre>{text}</pre>
    <Copy text={text} />
  </div>
);
