import {
  Check,
  Column,
  CreateDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryGeneratedColumn,
  Unique,
} from 'typeorm';
import { Athlete } from './athlete.entity.js';

@Entity('connection')
@Unique('connection_one_per_provider', ['athleteId', 'provider'])
@Unique('connection_one_owner', ['provider', 'vendorAthleteId'])
@Check('connection_provider', "provider in ('strava', 'oura', 'whoop')")
@Check('connection_status', "status in ('active', 'needs_reauth')")
export class Connection {
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'connection_pkey' })
  id: string;

  @Column('uuid', { name: 'athlete_id' })
  athleteId: string;

  @ManyToOne(() => Athlete, { onDelete: 'CASCADE', nullable: false })
  @JoinColumn({ name: 'athlete_id', foreignKeyConstraintName: 'connection_athlete' })
  athlete: Athlete;

  @Column('text')
  provider: string;

  @Column('text', { name: 'vendor_athlete_id' })
  vendorAthleteId: string;

  @Column('text', { array: true })
  scopes: string[];

  @Column('text', { default: 'active' })
  status: string;

  @Column('text', { name: 'access_token' })
  accessToken: string;

  @Column('text', { name: 'refresh_token' })
  refreshToken: string;

  @Column('int', { name: 'key_version' })
  keyVersion: number;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column('bigint', { name: 'token_fence', default: 0 })
  tokenFence: string;

  @Column('bigint', { name: 'refresh_fence', default: 0 })
  refreshFence: string;

  @Column('timestamptz', { name: 'refresh_leased_until', nullable: true })
  refreshLeasedUntil: Date | null;

  @Column('timestamptz', { name: 'refresh_failed_at', nullable: true })
  refreshFailedAt: Date | null;

  @CreateDateColumn({ name: 'connected_at', type: 'timestamptz', default: () => 'now()' })
  connectedAt: Date;

  @CreateDateColumn({ name: 'updated_at', type: 'timestamptz', default: () => 'now()' })
  updatedAt: Date;
}
