import { errors } from '../errors.ts'

/** For an address that is given now. What is refused has no part of it: a wrong address may have its password anywhere. */
export function checkAddress(url: string): void {
  if (!/^postgres(ql)?:\/\/./.test(url)) throw errors.hostInvalid('The address must begin with postgres://')
  // The server ends at the first / ? or #, so what follows its name there may be a piece of the password.
  if (/^[^:]+:\/\/[^/?#]*[/?#].*@/s.test(url))
    throw errors.hostInvalid(
      'The address has an @ behind its server: in a user, password or parameter write / as %2F, ? as %3F, # as %23 and @ as %40',
    )
}

/** Parameters of an address that name files. The process that parses the address reads them. */
const fileParameters = /[?&](?:sslrootcert|sslcert|sslkey)=/i

/** Whether parsing the address may read a file. The parser drops line breaks and tabs, and decodes names. */
export function namesFile(url: string): boolean {
  const decoded = url
    .replace(/[\t\n\r]/g, '')
    .replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return fileParameters.test(decoded)
}
