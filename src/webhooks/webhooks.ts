import { randomBytes } from 'node:crypto'
import type { Account } from '../auth/account.ts'
import type { Config } from '../config/config.ts'
import { maxWebhooks } from '../contract/webhooks.ts'
import { errors } from '../errors.ts'
import type { Log } from '../log/log.ts'
import type { Network } from '../network/network.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'
import { secretOf } from './message.ts'
import { WebhookSender } from './sender.ts'
import {
  insertNotices,
  insertWebhook,
  type NewWebhook,
  putScheduleNotices,
  updateWebhook,
  type Webhook,
} from './webhook-store.ts'

/** A webhook as a client sends it; without `secret` the service generates one. */
export type WantedWebhook = Omit<NewWebhook, 'sealedSecret'> & Readonly<{ secret: string | undefined }>

/** The webhooks of accounts and jobs, and their sender. One for each process. */
export class Webhooks {
  /** Addresses of names. Tests have one of their own. */
  network: Pick<Network, 'resolve'> | undefined
  readonly #databases: Databases
  readonly #secrets: Secrets
  readonly #sender: WebhookSender

  constructor(config: Config, databases: Databases, secrets: Secrets, log: Log) {
    this.#databases = databases
    this.#secrets = secrets
    this.#sender = new WebhookSender({
      control: databases.control,
      secrets,
      log,
      allowed: config.webhooks,
      network: () => this.network,
    })
  }

  async create(
    account: Account,
    wanted: WantedWebhook,
  ): Promise<Readonly<{ webhook: Webhook; secret: string }>> {
    const secret = wanted.secret ?? secretOf(randomBytes(32))
    const webhook = await insertWebhook(this.#databases.control, account, this.#sealed({ ...wanted, secret }))
    if (!webhook) throw errors.tooManyWebhooks(maxWebhooks)
    return { webhook, secret }
  }

  /** Without a secret it keeps the one that it has. */
  async change(account: Account, id: string, wanted: WantedWebhook): Promise<Webhook> {
    const webhook = await updateWebhook(this.#databases.control, account, id, this.#sealed(wanted))
    if (!webhook) throw errors.webhookNotFound()
    return webhook
  }

  /** Whom a job tells. Written before the job is. */
  async note(
    control: Queryable,
    account: Account,
    jobId: string,
    wanted: readonly WantedWebhook[],
  ): Promise<void> {
    await insertNotices(
      control,
      account,
      jobId,
      wanted.map((each) => this.#sealed(each)),
    )
  }

  /** Whom a schedule tells. An address that stays keeps its secret unless another one is given. */
  async noteSchedule(
    tx: Queryable,
    account: Account,
    schedule: string,
    wanted: readonly WantedWebhook[],
  ): Promise<void> {
    await putScheduleNotices(
      tx,
      account,
      schedule,
      wanted.map((each) => this.#sealed(each)),
    )
  }

  /** In a process with a worker. */
  start(): void {
    this.#sender.start()
  }

  stop(): Promise<void> {
    return this.#sender.stop()
  }

  #sealed({ secret, ...wanted }: WantedWebhook): NewWebhook {
    return { ...wanted, sealedSecret: secret === undefined ? null : this.#secrets.seal(secret) }
  }
}
