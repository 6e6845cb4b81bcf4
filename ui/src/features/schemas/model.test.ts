import { expect, it } from 'vitest';
import { webhookCurl, webhookOf } from './model';

it('a webhook has one address, whether its path was written with a slash or without', () => {
  const address = `${window.location.origin}/webhook/ask/:id/now`;
  for (const path of ['ask/:id/now', '/ask/:id/now']) {
    const webhook = webhookOf({ type: 'webhook', path });
    expect(webhook.url).toBe(address);
    expect(webhookCurl(webhook)).toContain("/webhook/ask/ID/now'");
  }
});
