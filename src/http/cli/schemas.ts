export const commandLineSchema = {
  tags: ['operations'],
  summary: 'The command line for people as one executable file for Node 20 or later',
  description: 'curl -fsSo cartage http://HOST:8080/cli/cartage && chmod +x cartage',
  response: {
    200: {
      description: 'The file',
      content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
    },
    304: { description: 'It is still the one of the ETag', type: 'null' },
  },
} as const
