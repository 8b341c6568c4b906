/** The entry in a browser. */
import '../daemon/web/static/tokens.css';
import './style.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { httpBridge } from './bridge-http.ts';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App bridge={httpBridge()} />
  </StrictMode>,
);
