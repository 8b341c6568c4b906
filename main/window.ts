/** The window: its place on the screen is kept, its page is the console, and closing it leaves the shell in the tray. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { BrowserWindow, type Rectangle, screen } from 'electron';
import { z } from 'zod';
import { ORIGIN } from './limits.ts';
import { webPreferences } from './security.ts';

const Placed = z.object({
  x: z.int(),
  y: z.int(),
  width: z.int().min(360).max(10_000),
  height: z.int().min(480).max(10_000),
  maximized: z.boolean(),
});
type Placed = z.infer<typeof Placed>;

const USUAL = { width: 1280, height: 860 };
const LEAST = { minWidth: 360, minHeight: 480 };

/** The stored place; null if there is none, or no screen shows it any more. */
function placeOf(file: string): Placed | null {
  try {
    const placed = Placed.parse(JSON.parse(readFileSync(file, 'utf8')));
    const shown = screen.getAllDisplays().some(({ workArea }) => overlaps(workArea, placed));
    return shown ? placed : null;
  } catch {
    return null;
  }
}

const overlaps = (area: Rectangle, { x, y, width, height }: Rectangle): boolean =>
  x < area.x + area.width && x + width > area.x && y < area.y + area.height && y + height > area.y;

/** `hidden`: started with the system, so that only the tray is shown. */
type WindowOptions = { preload: string; stateFile: string; icon: string; hidden: boolean };

export function openWindow({ preload, stateFile, icon, hidden }: WindowOptions): BrowserWindow {
  const { maximized, ...bounds } = placeOf(stateFile) ?? { ...USUAL, maximized: false };
  const window = new BrowserWindow({
    ...bounds,
    ...LEAST,
    icon,
    title: 'Countinghouse',
    show: false,
    autoHideMenuBar: true,
    backgroundColor: '#131b25',
    webPreferences: webPreferences(preload),
  });
  if (maximized) window.maximize();
  window.once('ready-to-show', () => {
    if (!hidden) window.show();
  });
  window.on('close', () => {
    const placed: Placed = { ...window.getNormalBounds(), maximized: window.isMaximized() };
    void writeFile(stateFile, JSON.stringify(placed), { mode: 0o600 }).catch(() => {});
  });
  void window.loadURL(`${ORIGIN}/index.html`);
  return window;
}
