/** The entry, in a browser and in the desktop shell. */
import '../daemon/web/static/tokens.css';
import './style.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { desktopBridge, shellOf } from './bridge-desktop.ts';
import { httpBridge } from './bridge-http.ts';

const shell = shellOf(window);

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App bridge={shell ? desktopBridge(shell) : httpBridge()} />
  </StrictMode>,
);
