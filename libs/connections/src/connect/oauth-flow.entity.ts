import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { Athlete } from '../athlete.entity.js';

@Entity('oauth_flow')
@Index('oauth_flow_athlete_id', ['athleteId'])
@Index('oauth_flow_expires_at', ['expiresAt'])
@Check('oauth_flow_provider', "provider in ('strava', 'oura', 'whoop')")
export class OAuthFlow {
  @PrimaryColumn('bytea', { name: 'state_hash', primaryKeyConstraintName: 'oauth_flow_pkey' })
  stateHash: Buffer;

  @Column('uuid', { name: 'athlete_id' })
  athleteId: string;

  @ManyToOne(() => Athlete, { onDelete: 'CASCADE', nullable: false })
  @JoinColumn({ name: 'athlete_id', foreignKeyConstraintName: 'oauth_flow_athlete' })
  athlete: Athlete;

  @Column('text')
  provider: string;

  @Column('text', { name: 'return_url', nullable: true })
  returnUrl: string | null;

  @Column('text', { nullable: true })
  verifier: string | null;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;
}
