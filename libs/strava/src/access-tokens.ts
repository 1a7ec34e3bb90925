export interface StravaAccess {
  readonly token: string;
  /** Of the athlete: what a cut connection still brings in is refused by it. */
  readonly generation: number;
}

export interface AccessTokens {
  /** A living token. Throws `StravaTokenRevoked` where the athlete has to connect again. */
  access(athleteId: string): Promise<StravaAccess>;
  /** Strava answered 401 to that token. `renewed`: there is another; `revoked`: its refresh was refused as well. */
  rejected(athleteId: string, token: string): Promise<'renewed' | 'revoked'>;
}
