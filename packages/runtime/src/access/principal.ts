/**
 * Who makes a request, once it is authenticated. Nothing in a request's body can name one (I7).
 *
 * A subject owns contexts and sees its own alone. An operator has no subject: it sees how the Runtime does, and sends no
 * messages.
 */
export type Principal = { readonly role: "subject"; readonly subject: string } | { readonly role: "operator" };
