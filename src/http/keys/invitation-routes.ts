import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Account } from '../../auth/account.ts'
import { refuseSuspended } from '../../auth/standing.ts'
import type { InvitationDocument } from '../../contract/documents.ts'
import { isJsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import { acceptInvitation, invitedKey } from '../../keys/invitations/accept-invitation.ts'
import { invite, withdrawInvitation } from '../../keys/invitations/invite.ts'
import { baseUrlOf } from '../middleware/address.ts'
import { keysCaller } from '../middleware/authenticate.ts'
import { clientAddress } from '../middleware/credential/client-address.ts'
import { forbidStoring } from '../middleware/guard-answers.ts'
import { zonedTime } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { addressedAccount } from './addressed-account.ts'
import { fullKeyDocument } from './document.ts'
import { acceptSchema, inviteSchema, withdrawSchema } from './invitation-schemas.ts'
import { readKeyName } from './request.ts'

/** A link gives a colleague a key of their own in place of the master key. */
export async function invitationRoutes(app: FastifyInstance, services: Services): Promise<void> {
  forbidStoring(app)
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  const { installation, keysMutex, config } = services
  const acting = async (request: FastifyRequest) => {
    const caller = await keysCaller(services, request)
    const account = await addressedAccount(services, request, caller)
    return { account, context: { ...installation, caller, address: clientAddress(request) } }
  }

  app.post('/keys/:key/invitation', { ...common, schema: inviteSchema }, async (request, reply) => {
    const { account, context } = await acting(request)
    const [name, until] = [readKeyName(request), readUntil(request.body)]
    const made = await keysMutex(account.userId, () => invite(context, account, name, until))
    const document: InvitationDocument = {
      invitation: made.secret,
      url: `${baseUrlOf(request, config)}/console/invitation/${account.username}#${made.secret}`,
      expires_at: new Date(made.until).toISOString(),
    }
    return reply.code(201).send(document)
  })

  app.delete('/keys/:key/invitation', { ...common, schema: withdrawSchema }, async (request, reply) => {
    const { account, context } = await acting(request)
    await keysMutex(account.userId, () => withdrawInvitation(context, account, readKeyName(request)))
    return reply.code(204).send()
  })

  app.post('/invitations', { ...common, schema: acceptSchema }, async (request) => {
    const secret = readSecret(request.body)
    const context = { ...installation, address: clientAddress(request) }
    const found = await findInvited(services, request, secret)
    if (!found) throw errors.invitationUnknown()
    const { account, name } = found
    const key = await keysMutex(account.userId, () => acceptInvitation(context, account, name, secret))
    return fullKeyDocument(key, account.username)
  })
}

const common = { config: { rateGroup: 'keys' } } as const

type Invited = Readonly<{ account: Account; name: string }>

/** As with tokens, an address may try only so many that are wrong. */
function findInvited(
  { directory, installation, wrongTokens }: Services,
  request: FastifyRequest,
  secret: string,
): Promise<Invited | undefined> {
  const find = async () => {
    const named = await directory.findAccount((request.params as { name: string }).name)
    if (named?.kind !== 'user') return undefined
    const { account } = named
    const name = await invitedKey(installation, account, secret)
    if (name === undefined) return undefined
    refuseSuspended(account)
    return { account, name }
  }
  const credential = { kind: 'token', token: secret } as const
  return wrongTokens.attempt(clientAddress(request), credential, find, (found) => found === undefined)
}

function readSecret(body: unknown): string {
  const secret = isJsonObject(body) ? body.invitation : undefined
  if (typeof secret !== 'string' || secret === '' || secret.length > 100)
    throw errors.badRequest('invitation must be the text after the # of the link')
  return secret
}

/** Undefined: as usual. */
function readUntil(body: unknown): string | undefined {
  const given = isJsonObject(body) ? body.expires_at : undefined
  if (given === undefined) return undefined
  const until = zonedTime(given)
  if (until === undefined) throw errors.keyInvalid(['expires_at must be a time such as 2027-01-31T10:00:00Z'])
  return until
}
