/** The sandbox's controls: what a payer, a miner or the network does. */
import { type ReactNode, useState } from 'react';
import { useChange, useConnection } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { Field, Select } from '../../parts/controls.tsx';
import { byCoin, coinName, Empty, Problem, Section } from '../../parts/parts.tsx';
import type { T } from './developers.tsx';

const BLOCKS_MAX = 100;

export function SandboxTools({ business, t }: { business: Business; t: T }): ReactNode {
  const { up } = useConnection();
  const cryptos = [...business.cryptos].sort(byCoin);
  const [crypto, setCrypto] = useState(cryptos[0] ?? 'LTC');
  const [invoice, setInvoice] = useState('');
  const [blocks, setBlocks] = useState('1');
  const play = useChange('sandbox.play', '');
  if (business.network !== 'sandbox') return <Empty title={t('sandbox')}>{t('sandboxOnly')}</Empty>;
  const owner = { business: `${business.id}` };
  const count = Math.min(BLOCKS_MAX, Math.max(1, Math.floor(Number(blocks)) || 1));
  const button = (text: string, run: () => void, able = true): ReactNode => (
    <button type="button" className="button" disabled={!up || play.isPending || !able} onClick={run}>
      {text}
    </button>
  );
  return (
    <>
      <Section title={t('coin')}>
        <Select
          label={t('coin')}
          hideLabel
          value={crypto}
          options={cryptos.map((one) => [one, coinName(one)] as const)}
          onChange={setCrypto}
        />
        <p role="status" className="good">
          {play.isSuccess && t('done')}
        </p>
        {play.error && <Problem error={play.error} />}
      </Section>
      <Section title={t('pay')} note={t('payNote')}>
        <div className="inline-form">
          <Field
            label={t('invoiceId')}
            className="mono"
            value={invoice}
            onChange={(event) => setInvoice(event.target.value.trim())}
          />
          {button(t('payNow'), () => play.mutate({ action: 'pay', ...owner, invoice, crypto }), invoice !== '')}
          {button(t('payLate'), () => play.mutate({ action: 'pay-late', ...owner, invoice }), invoice !== '')}
        </div>
      </Section>
      <Section title={t('mine')} note={t('mineNote')}>
        <div className="inline-form">
          <Field
            label={t('blocks')}
            type="number"
            min={1}
            max={BLOCKS_MAX}
            value={blocks}
            onChange={(event) => setBlocks(event.target.value)}
          />
          {button(t('mineNow'), () => play.mutate({ action: 'mine', ...owner, crypto, blocks: count }))}
        </div>
      </Section>
      <Section title={t('reorg')} note={t('reorgNote')}>
        {button(t('reorgNow'), () => play.mutate({ action: 'reorg', ...owner, crypto, depth: count }))}
      </Section>
      <Section title={t('outage')} note={t('outageNote')}>
        <div className="actions">
          {button(t('down'), () => play.mutate({ action: 'outage', ...owner, crypto, down: true }))}
          {button(t('up'), () => play.mutate({ action: 'outage', ...owner, crypto, down: false }))}
        </div>
      </Section>
    </>
  );
}
