// Who is signed in, and what they may do. The sign-in has two halves: a cookie that scripts cannot read, and a secret that
// this page keeps and sends with every call.
import {computed, signal} from '@preact/signals';
import {setServerTime} from '../lib/clock';
import {recall, remember} from '../lib/settings';
import {ApiError, call, setSecret, setSignedOut} from './client';
import type {Me, Right} from './types';

export type SessionState = 'loading' | 'signed_out' | 'signed_in' | 'unreachable';

export const sessionState = signal<SessionState>('loading');
export const me = signal<Me | null>(null);
/** Why the sign-in form is shown, if there is something to say. */
export const signInNote = signal('');

const SECRET = 'signin';
const rights = computed(() => new Set<Right>(me.value?.rights ?? []));

/** Whether to show something at all; the server decides again when it is asked. */
export const may = (right: Right): boolean => rights.value.has(right);

function adopt(secret: string | null): void {
  setSecret(secret);
  remember(SECRET, secret);
}

// The code is taken out of the address before anything else, so that neither history nor a screenshot keeps it.
function takeCode(): string | null {
  const match = /^#in=([0-9A-Za-z]+)$/.exec(location.hash);
  if (!match) return null;
  history.replaceState(history.state, '', location.pathname + location.search);
  return match[1]!;
}

export async function signIn(proof: {code: string} | {token: string}): Promise<void> {
  const made = await call('POST /v1/signins', {body: proof});
  adopt(made.secret);
  setSignedOut(false);
  await loadMe();
}

export async function loadMe(): Promise<void> {
  const answer = await call('GET /v1/me');
  setServerTime(answer.now);
  me.value = answer;
  sessionState.value = 'signed_in';
  signInNote.value = '';
}

/** Called when a call was refused for lack of a sign-in: what is shown stays, a form comes over it. */
export function signedOut(): void {
  if (sessionState.value !== 'signed_in') return;
  adopt(null);
  setSignedOut(true);
  signInNote.value = 'Your sign-in has ended. Sign in again to go on; what you see is as it was.';
  sessionState.value = 'signed_out';
}

export async function signOut(): Promise<void> {
  const id = me.value?.signin_id;
  sessionState.value = 'signed_out';
  signInNote.value = 'You are signed out.';
  try {
    if (id) await call('DELETE /v1/signins/{id}', {path: {id}});
  } finally {
    adopt(null);
    setSignedOut(true);
    me.value = null;
  }
}

async function useCode(code: string): Promise<boolean> {
  try {
    await signIn({code});
    return true;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    signInNote.value = 'This sign-in link has been used, or is older than ten minutes.';
    return false;
  }
}

export async function startSession(): Promise<void> {
  setSecret(recall(SECRET));
  const code = takeCode();
  try {
    if (code && (await useCode(code))) return;
    await loadMe();
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) sessionState.value = 'signed_out';
    else sessionState.value = 'unreachable';
  }
}
