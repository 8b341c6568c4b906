/** The entry, in a browser and in the desktop shell. */
import '../daemon/web/static/tokens.css';
import './style.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { httpBridge } from './bridge-http.ts';
import { firstLanguage, isLanguage } from './i18n.ts';

// what a browser has no use for is not in its first load
const shell = 'countinghouse' in window;
const { bridge, desk } = shell ? (await import('./desk.tsx')).made(window) : { bridge: httpBridge(), desk: null };
// the desktop program has one language for its menus and this page
const wanted = (await bridge.desktop?.settings().catch(() => null))?.language ?? '';

if (!shell) {
  const link = document.createElement('link');
  [link.rel, link.href] = ['manifest', '/manifest.webmanifest'];
  document.head.append(link);
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App bridge={bridge} desk={desk} first={isLanguage(wanted) ? wanted : firstLanguage()} />
  </StrictMode>,
);
