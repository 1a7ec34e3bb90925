import { Check, Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('revocation')
@Index('revocation_next_attempt_at', ['nextAttemptAt'])
@Index('revocation_vendor_athlete', ['provider', 'vendorAthleteId'])
@Check('revocation_provider', "provider in ('strava', 'oura', 'whoop')")
export class Revocation {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'revocation_pkey' })
  id: string;

  @Column('text')
  provider: string;

  @Column('text', { name: 'vendor_athlete_id' })
  vendorAthleteId: string;

  @Column('text')
  token: string;

  @Column('int', { name: 'key_version' })
  keyVersion: number;

  @Column('int', { default: 0 })
  attempts: number;

  @CreateDateColumn({ name: 'next_attempt_at', type: 'timestamptz', default: () => 'now()' })
  nextAttemptAt: Date;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', default: () => 'now()' })
  createdAt: Date;
}
