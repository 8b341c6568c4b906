/**
 * The files with which systemd runs the service, as text. Every file begins with `MARK`, which tells it from a foreign
 * one.
 */
import { SERVICE_ENVIRONMENT } from '../../config/paths.ts';

export const MARK = '# Made by `countinghouse service install`';

/** The running program; all paths are absolute and outside home directories. */
export type Program = { node: string; script: string; version: string };

export type ServiceOptions = {
  program: Program;
  /** The wallet runs as a service under another user. */
  separateSigner: boolean;
  /** The file, readable by root only, from which systemd passes the passphrase; null: it is asked for. */
  passphraseFile: string | null;
  /** The server that this machine signs for, and nothing else; null: it runs the service itself. */
  signerOnly: string | null;
  /** systemd's version; some settings need a newer one. */
  systemd: number;
};

export const USER = 'countinghouse';
export const SIGNER_USER = 'countinghouse-signer';
export const DATA_DIR = '/var/lib/countinghouse';
export const SIGNER_DIR = '/var/lib/countinghouse-signer';
/** Where systemd lets each service keep compiled code. */
export const CACHES = ['/var/cache/countinghouse', '/var/cache/countinghouse-signer'];
const SIGNER_SOCKET = '/run/countinghouse-signer/signer.sock';
const CREDENTIAL = 'countinghouse-passphrase';
/** Exit codes after which a restart is useless: a wrong configuration; data of another process or a newer release. */
const REFUSED_EXITS = '2 3';
/** From this version on systemd lengthens the pause between restarts by itself. */
const SYSTEMD_BACK_OFF = 254;

/** https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html. Node compiles: its memory must be executable. */
const HARDENING = [
  'NoNewPrivileges=yes',
  'CapabilityBoundingSet=',
  'AmbientCapabilities=',
  'ProtectSystem=strict',
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'DevicePolicy=closed',
  'ProtectProc=invisible',
  'ProcSubset=pid',
  'ProtectClock=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectControlGroups=yes',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'LockPersonality=yes',
  'RemoveIPC=yes',
  'KeyringMode=private',
  'LimitCORE=0',
  'UMask=0077',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
  // refused calls fail instead of killing the process
  'SystemCallErrorNumber=EPERM',
];

/**
 * A path as one word of a unit file.
 * https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#Command%20lines
 */
const word = (text: string): string =>
  `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;

const sections = (version: string, parts: Record<string, readonly string[]>): string => {
  const body = Object.entries(parts).map(([name, lines]) => `[${name}]\n${lines.join('\n')}\n`);
  return `${MARK}, release ${version}. Changes belong into a drop-in: systemctl edit.\n${body.join('\n')}`;
};

const restart = (systemd: number): string[] => [
  'Restart=always',
  `RestartPreventExitStatus=${REFUSED_EXITS}`,
  'TimeoutStopSec=30',
  ...(systemd >= SYSTEMD_BACK_OFF ? ['RestartSec=1', 'RestartSteps=8', 'RestartMaxDelaySec=300'] : ['RestartSec=10']),
];

/** `exec`: the service is ready only after the upgrade of a database, which may take many minutes, and no limit may end it. */
const runtime = (folder: string): string[] => [
  'Type=exec',
  `CacheDirectory=${folder}`,
  'CacheDirectoryMode=0700',
  'Environment=MALLOC_ARENA_MAX=2',
  `Environment=NODE_COMPILE_CACHE=%C/${folder}`,
  'WorkingDirectory=/',
];

const state = (folder: string): string[] => [`StateDirectory=${folder}`, 'StateDirectoryMode=0700'];

/** systemd.unit(5): no limit of starts, because the pause between them grows. */
const unit = (description: string, more: readonly string[]): string[] => [
  `Description=${description}`,
  'StartLimitIntervalSec=0',
  ...more,
];

const install = ['WantedBy=multi-user.target'];

/** The service that watches the chains and serves requests. Without a separate signer it has the wallet too. */
export function daemonUnit({ program, separateSigner, passphraseFile, systemd }: ServiceOptions): string {
  const needs = ['network-online.target', ...(separateSigner ? ['countinghouse-signer.service'] : [])].join(' ');
  return sections(program.version, {
    Unit: unit('Countinghouse', [`After=${needs}`, `Wants=${needs}`]),
    Service: [
      `User=${USER}`,
      `Group=${USER}`,
      ...state('countinghouse'),
      ...runtime('countinghouse'),
      `Environment=COUNTINGHOUSE_DATA_DIR=${DATA_DIR}`,
      ...(separateSigner ? [`Environment=COUNTINGHOUSE_WALLET_SIGNER=${SIGNER_SOCKET}`] : []),
      ...(passphraseFile !== null && !separateSigner
        ? [`LoadCredential=${CREDENTIAL}:${passphraseFile}`, 'Environment=COUNTINGHOUSE_WALLET_UNLOCK=systemd']
        : []),
      `ExecStart=${word(program.node)} ${word(program.script)} start`,
      ...restart(systemd),
      'LimitNOFILE=65536',
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
      ...HARDENING,
    ],
    Install: install,
  });
}

/** The wallet as a service under another user: without network, and with a folder that the daemon's user cannot enter. */
export function signerUnit({ program, passphraseFile, systemd }: ServiceOptions): string {
  const byCredential = passphraseFile === null ? '' : ` --passphrase-file %d/${CREDENTIAL}`;
  return sections(program.version, {
    Unit: unit('Countinghouse signer', ['Before=countinghouse.service']),
    Service: [
      // the daemon's group may enter the socket's folder; files in the wallet's folder are for the user only
      `User=${SIGNER_USER}`,
      `Group=${USER}`,
      ...state('countinghouse-signer'),
      ...runtime('countinghouse-signer'),
      'RuntimeDirectory=countinghouse-signer',
      'RuntimeDirectoryMode=0750',
      ...(passphraseFile === null ? [] : [`LoadCredential=${CREDENTIAL}:${passphraseFile}`]),
      `ExecStart=${word(program.node)} ${word(program.script)} signer --folder ${SIGNER_DIR} --socket ${SIGNER_SOCKET}${byCredential}`,
      ...restart(systemd),
      'PrivateNetwork=yes',
      'IPAddressDeny=any',
      'RestrictAddressFamilies=AF_UNIX',
      ...HARDENING,
    ],
    Install: install,
  });
}

/** Node's heap for a process that relays lines; the wallet is in another process, which takes what scrypt needs. */
const HOME_HEAP = '--max-semi-space-size=1';

/** The wallet on a machine at home, which calls its server: it listens on nothing, and sees nothing of other folders. */
export function homeUnit({ program, passphraseFile, signerOnly, systemd }: ServiceOptions): string {
  const byCredential = passphraseFile === null ? '' : ` --passphrase-file %d/${CREDENTIAL}`;
  return sections(program.version, {
    Unit: unit('Countinghouse, signing for a server', ['After=network-online.target', 'Wants=network-online.target']),
    Service: [
      `User=${USER}`,
      `Group=${USER}`,
      ...state('countinghouse'),
      ...runtime('countinghouse'),
      `Environment=COUNTINGHOUSE_DATA_DIR=${DATA_DIR}`,
      ...(passphraseFile === null ? [] : [`LoadCredential=${CREDENTIAL}:${passphraseFile}`]),
      `ExecStart=${word(program.node)} ${HOME_HEAP} ${word(program.script)} --server ${word(signerOnly ?? '')} signer run --auto-lock-minutes 0${byCredential}`,
      ...restart(systemd),
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
      'SocketBindDeny=any',
      ...HARDENING,
    ],
    Install: install,
  });
}

/** https://www.freedesktop.org/software/systemd/man/latest/sysusers.d.html */
function sysusers({ program, separateSigner }: ServiceOptions): string {
  const users = [`u ${USER} - "Countinghouse" ${DATA_DIR}`];
  if (separateSigner) users.push(`u ${SIGNER_USER} -:${USER} "Countinghouse signer" ${SIGNER_DIR}`);
  return `${MARK}, release ${program.version}.\n${users.join('\n')}\n`;
}

/** Variables for root's own commands, so that they find the service. */
function commandEnvironment({ program, separateSigner }: ServiceOptions): string {
  const lines = [`COUNTINGHOUSE_DATA_DIR=${DATA_DIR}`];
  if (separateSigner) {
    lines.push(`COUNTINGHOUSE_SIGNER_DIR=${SIGNER_DIR}`, `COUNTINGHOUSE_SIGNER_SOCKET=${SIGNER_SOCKET}`);
  }
  return `${MARK}, release ${program.version}. Commands of root read it.\n${lines.join('\n')}\n`;
}

export const DAEMON_UNIT = '/etc/systemd/system/countinghouse.service';
export const SIGNER_UNIT = '/etc/systemd/system/countinghouse-signer.service';
export const HOME_UNIT = '/etc/systemd/system/countinghouse-home.service';
export const SYSUSERS = '/etc/sysusers.d/countinghouse.conf';

/** Every file of an installation with its text, in the order of writing. */
export function serviceFiles(options: ServiceOptions): Map<string, string> {
  return new Map([
    [SYSUSERS, sysusers(options)],
    ...(options.signerOnly === null
      ? [
          ...(options.separateSigner ? [[SIGNER_UNIT, signerUnit(options)] as const] : []),
          [DAEMON_UNIT, daemonUnit(options)] as const,
        ]
      : [[HOME_UNIT, homeUnit(options)] as const]),
    [SERVICE_ENVIRONMENT, commandEnvironment(options)],
  ]);
}
