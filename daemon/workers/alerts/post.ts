/** Channels that are one HTTP request: ntfy, Telegram, a signed webhook. Redirects are not followed. */
import { randomUUID } from 'node:crypto';
import type { Notice } from '../../app/notifications/alert-notices.ts';
import { signatureHeaders } from '../../app/notifications/signature.ts';
import { type Channel, type ChannelName, type Message, needTaken, withoutSecrets } from './channel.ts';

type Post = { url: string; headers: Record<string, string>; body: string };

async function post(server: string, { url, headers, body }: Post, signal: AbortSignal): Promise<void> {
  let response: Response;
  try {
    response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
  } catch (error) {
    throw withoutSecrets(server, error);
  }
  await needTaken(server, response);
}

const channel = (name: ChannelName, url: string, make: (message: Message) => Post): Channel => ({
  name,
  send: (message, signal) => post(new URL(url).host, make(message), signal),
});

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** https://docs.ntfy.sh/publish/#publish-as-json: the topic goes into the body, so that texts of any script do. */
export function ntfy(topic: string, token: string | null): Channel {
  const { origin, pathname } = new URL(topic);
  const cut = pathname.lastIndexOf('/');
  const url = `${origin}${pathname.slice(0, cut + 1)}`;
  return channel('ntfy', url, ({ title, text, urgent }) => ({
    url,
    headers: { ...JSON_TYPE, ...(token === null ? {} : { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify({
      topic: pathname.slice(cut + 1),
      title,
      message: text,
      priority: urgent ? 5 : 3,
      tags: [urgent ? 'rotating_light' : 'bell'],
    }),
  }));
}

/** https://core.telegram.org/bots/api#sendmessage */
export function telegram(api: string, token: string, chat: string): Channel {
  const url = `${api.replace(/\/+$/, '')}/bot${token}/sendMessage`;
  return channel('telegram', api, ({ title, text }) => ({
    url,
    headers: JSON_TYPE,
    body: JSON.stringify({
      chat_id: chat,
      text: `${title}\n\n${text}`,
      link_preview_options: { is_disabled: true },
    }),
  }));
}

const plain = ({ id, kind, subject, message, network, created_at, ended_at }: Notice) => ({
  id,
  kind,
  subject,
  message,
  network,
  created_at: new Date(created_at).toISOString(),
  ended_at: ended_at === null ? null : new Date(ended_at).toISOString(),
});

/** Signed as the Standard Webhooks specification has it, so that the receiver can check the sender. */
export function signedWebhook(url: string, secret: string, now: () => number): Channel {
  return channel('webhook', url, ({ title, text, urgent, news }) => {
    const timestamp = now();
    const body = JSON.stringify({
      type: 'operator.alert',
      timestamp: new Date(timestamp).toISOString(),
      data: { title, text, urgent, raised: news.raised.map(plain), ended: news.ended.map(plain) },
    });
    const headers = signatureHeaders([secret], randomUUID(), body, timestamp);
    return { url, headers: { ...JSON_TYPE, ...headers }, body };
  });
}
