/** The console's signs: outlines of 20 × 20, drawn in the colour of the text beside them. */
import type { ReactNode } from 'react';

const OUTLINES = {
  home: 'M3.5 9 10 3.5 16.5 9v7.5h-4.5v-4.5h-4v4.5H3.5z',
  counter: 'M4 3.5h12v13H4zM4 7.5h12M8 7.5v9M12 7.5v9M4 12h12',
  invoices: 'M5 2.8h10v14l-1.7-1.2-1.6 1.2-1.7-1.2-1.7 1.2-1.6-1.2L5 16.8zM8 7h4M8 10.5h4',
  links:
    'M8.500 11.500 11.500 8.500M9 6.500l2-2a3.200 3.200 0 0 1 4.500 4.500l-2 2M11 13.500l-2 2A3.200 3.200 0 0 1 4.500 11l2-2',
  inbox: 'M3 11.5 5 4h10l2 7.5V16H3zM3 11.5h4l1 2h4l1-2h4',
  withdrawals: 'M5.5 13.5 14.5 4.5M8 4.5h6.5V11M3.5 17h13',
  gas: 'M10 3s5 5.3 5 9a5 5 0 0 1-10 0c0-3.700 5-9 5-9z',
  wallet: 'M3.5 5h11.500v3M3.500 5v11h13V8H3.500M13 12h1.500',
  sources:
    'M10 6.500V9.500M10 9.500 5.500 13M10 9.500l4.500 3.500M8 4.500a2 2 0 1 0 4 0 2 2 0 1 0-4 0M2.500 14.500a2 2 0 1 0 4 0 2 2 0 1 0-4 0M13.500 14.500a2 2 0 1 0 4 0 2 2 0 1 0-4 0',
  developers: 'M7 5.500 2.500 10 7 14.500M13 5.500l4.500 4.500-4.500 4.500',
  settings: 'M3 6h6M13 6h4M9 6a2 2 0 1 0 4 0 2 2 0 1 0-4 0M3 14h3M10 14h7M6 14a2 2 0 1 0 4 0 2 2 0 1 0-4 0',
  alerts: 'M5 14V9a5 5 0 0 1 10 0v5l1.500 1.500h-13zM8.500 17.500h3',
  rates: 'M3 13.500 7.500 9l3 3L17 5.500M12.500 5.500H17V10',
  search: 'M3.500 8.500a5 5 0 1 0 10 0 5 5 0 1 0-10 0M12.300 12.300 17 17',
  lock: 'M4.500 9h11v8h-11zM7 9V6.500a3 3 0 0 1 6 0V9',
  unlocked: 'M4.500 9h11v8h-11zM7 9V6a3 3 0 0 1 5.800-1',
  plus: 'M10 4v12M4 10h12',
  calendar: 'M4 5.5h12v11H4zM4 9h12M7 3.5v3.5M13 3.5v3.5',
  close: 'M5 5l10 10M15 5 5 15',
  back: 'M12.500 4.500 7 10l5.500 5.500',
  down: 'M5.500 8 10 12.500 14.500 8',
  more: 'M4.500 10h.01M10 10h.01M15.500 10h.01',
  print: 'M6 7V3.500h8V7M6 14H3.500V7h13v7H14M6 11.500h8V17H6z',
  erase: 'M7 4.500h10v11H7L2.500 10zM9.500 8l4 4M13.500 8l-4 4',
  sound: 'M3 8v4h3l4 3.500v-11L6 8zM13 7.500a3.500 3.500 0 0 1 0 5M15 5a7 7 0 0 1 0 10',
  silent: 'M3 8v4h3l4 3.500v-11L6 8zM13.500 8l4 4M17.500 8l-4 4',
  copy: 'M7 7h9.500v9.500H7zM13 7V3.500H3.500V13H7',
  external: 'M8 4.500H4v11.500h11.500V12M11 4h5v5M16 4 9 11',
  server: 'M3.500 3.500h13v5.500h-13zM3.500 11h13v5.500h-13zM6.500 6.250h.01M6.500 13.750h.01',
  device: 'M6 2.500h8v15H6zM8 5h4v3.500H8zM9 13.500h2',
  laptop: 'M4.500 4.500h11v8h-11zM2.500 15.500h15',
  wifi: 'M3 8.500a10 10 0 0 1 14 0M5.500 11.300a6.400 6.400 0 0 1 9 0M8 14a2.800 2.800 0 0 1 4 0M10 16.300v.100',
  globe: 'M3 10a7 7 0 1 0 14 0 7 7 0 1 0-14 0M3 10h14M10 3c-4.500 4-4.500 10 0 14 4.500-4 4.500-10 0-14',
  onion:
    'M10 2.500v3M10 5.500c-2 2.500-5.500 3.500-5.500 7a5.500 4.500 0 0 0 11 0c0-3.500-3.500-4.500-5.500-7M10 8.500c-1 1.500-2.500 2.500-2.500 4.500a2.500 2.500 0 0 0 5 0c0-2-1.500-3-2.500-4.500',
} as const;

export type IconName = keyof typeof OUTLINES;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 20 20" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={OUTLINES[name]} />
    </svg>
  );
}

/** The shapes of states; each stands beside its word. */
const SHAPES = ['waiting', 'seen', 'part', 'done', 'warning', 'failed', 'ended', 'approve', 'inbox'] as const;
export type Shape = (typeof SHAPES)[number];

const TICK = 'M6.300 10.300 9 13l4.800-5.500';

const DRAWN: Record<Exclude<Shape, 'part'>, ReactNode> = {
  waiting: <circle className="line dashed" cx="10" cy="10" r="7" />,
  seen: (
    <>
      <circle className="line" cx="10" cy="10" r="7" />
      <circle cx="10" cy="10" r="3" />
    </>
  ),
  done: (
    <>
      <circle cx="10" cy="10" r="8" />
      <path className="cut" d={TICK} />
    </>
  ),
  warning: (
    <>
      <path className="line" d="M10 3 18 16.500H2z" />
      <path className="line" d="M10 8v4M10 14.200v.1" />
    </>
  ),
  failed: (
    <>
      <path d="M6.700 2h6.600L18 6.700v6.600L13.300 18H6.700L2 13.300V6.700z" />
      <path className="cut" d="m7.200 7.200 5.600 5.600M12.800 7.200l-5.600 5.600" />
    </>
  ),
  ended: (
    <>
      <circle className="line" cx="10" cy="10" r="7" />
      <path className="line" d="M6.500 10h7" />
    </>
  ),
  approve: (
    <>
      <path d="m10 1.500 8.500 8.500-8.500 8.500L1.500 10z" />
      <path className="cut" d="M10 6v4.800M10 13.600v.1" />
    </>
  ),
  inbox: (
    <>
      <rect className="line" x="2.500" y="2.500" width="15" height="15" rx="3" />
      <path className="line" d="M10 6v7M7 10.500l3 3 3-3" />
    </>
  ),
};

/** `share`: the filled part of a pie, 0 to 1. */
export function ShapeIcon({ shape, share = 0, size = 18 }: { shape: Shape; share?: number; size?: number }): ReactNode {
  return (
    <svg className="shape" viewBox="0 0 20 20" width={size} height={size} aria-hidden="true" focusable="false">
      {shape === 'part' ? <Pie share={share} /> : DRAWN[shape]}
    </svg>
  );
}

/** The length of a circle of radius 3.5, drawn 7 thick: a pie. */
const PIE_LENGTH = 2 * Math.PI * 3.5;

function Pie({ share }: { share: number }): ReactNode {
  const dash = `${Math.min(1, Math.max(0, share)) * PIE_LENGTH} ${PIE_LENGTH}`;
  return (
    <>
      <circle className="line" cx="10" cy="10" r="8" />
      <circle className="pie" cx="10" cy="10" r="3.5" strokeDasharray={dash} transform="rotate(-90 10 10)" />
    </>
  );
}
