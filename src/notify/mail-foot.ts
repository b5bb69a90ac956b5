/** What stands at the end of a mail. `unsubscribeUrl` null: it leads nowhere, because nobody subscribed. */
export type MailFoot = { readonly to: string; readonly unsubscribeUrl: string | null };
