/** The login in a URL. */

/** User and password without percent-encoding; a part with a `%` that encodes nothing is taken as it is. */
export function loginOf({ username, password }: URL): { user: string; password: string } {
  return { user: decoded(username), password: decoded(password) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
