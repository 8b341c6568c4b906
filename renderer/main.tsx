/** The entry, in a browser and in the desktop shell. */
import '../daemon/web/static/tokens.css';
import './style.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { desktopBridge, shellOf } from './bridge-desktop.ts';
import { httpBridge } from './bridge-http.ts';
import { firstLanguage, isLanguage } from './i18n.ts';

const shell = shellOf(window);
const bridge = shell ? desktopBridge(shell) : httpBridge();
// the desktop program has one language for its menus and this page
const wanted = (await bridge.desktop?.settings().catch(() => null))?.language ?? '';

if (!shell) {
  const link = document.createElement('link');
  [link.rel, link.href] = ['manifest', '/manifest.webmanifest'];
  document.head.append(link);
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App bridge={bridge} first={isLanguage(wanted) ? wanted : firstLanguage()} />
  </StrictMode>,
);
