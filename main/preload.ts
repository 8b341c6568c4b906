/** The page sees two functions of this process, and nothing of Electron. It runs in Chromium's sandbox. */
import { contextBridge, ipcRenderer } from 'electron';
import { CHANNELS } from './limits.ts';

contextBridge.exposeInMainWorld('countinghouse', {
  call: (method: string, input: unknown) => ipcRenderer.invoke(CHANNELS.call, method, input),
  /** Calls back with each piece of news until the returned function is called. The event itself stays here. */
  onNews: (listener: (news: unknown) => void) => {
    const pass = (_event: unknown, news: unknown): void => listener(news);
    ipcRenderer.on(CHANNELS.news, pass);
    return () => {
      ipcRenderer.off(CHANNELS.news, pass);
    };
  },
});
