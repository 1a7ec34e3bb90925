import {
  Check,
  Column,
  CreateDateColumn,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Unique,
} from 'typeorm';

// The tables of this lib. Statements are SQL; a test compares these entities with the migrated schema.

/** The table `athlete`, for the comparison of entities with the schema. */
@Entity('athlete')
@Index('athlete_identity', ['issuer', 'subject'], { unique: true })
@Index('athlete_subject', ['subject'])
@Index('athlete_by_subject', ['subject', 'id'])
@Index('athlete_created_at', ['createdAt', 'id'])
export class Athlete {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'athlete_pkey' })
  id: string;

  @Column('text')
  issuer: string;

  @Column('text')
  subject: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', default: () => 'now()' })
  createdAt: Date;

  @Column('bigint', { default: () => "nextval('athlete_generation')" })
  generation: string;
}

/** The table `vendor`, for the comparison of entities with the schema. */
@Entity('vendor')
export class VendorRow {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_pkey' })
  id: string;
}

/** The table `connection`, for the comparison of entities with the schema. */
@Entity('connection')
@Unique('connection_one_per_provider', ['athleteId', 'provider'])
@Unique('connection_one_owner', ['provider', 'vendorAthleteId'])
@Index('connection_needs_reauth', ['athleteId'], { where: "status = 'needs_reauth'" })
@Index('connection_newest', ['provider', 'connectedAt'])
@Index('connection_ending', ['expiresAt'], { where: 'refresh_token is null' })
@Check('connection_status', "status in ('active', 'needs_reauth')")
export class Connection {
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'connection_pkey' })
  id: string;

  @PrimaryColumn('uuid', { name: 'athlete_id', primaryKeyConstraintName: 'connection_pkey' })
  athleteId: string;

  @ManyToOne(() => Athlete, { onDelete: 'CASCADE', nullable: false })
  @JoinColumn({ name: 'athlete_id', foreignKeyConstraintName: 'connection_athlete' })
  athlete: Athlete;

  @Column('text')
  provider: string;

  @ManyToOne(() => VendorRow, { nullable: false })
  @JoinColumn({ name: 'provider', foreignKeyConstraintName: 'connection_provider' })
  vendor: VendorRow;

  @Column('text', { name: 'vendor_athlete_id' })
  vendorAthleteId: string;

  @Column('text', { array: true })
  scopes: string[];

  @Column('text', { default: 'active' })
  status: string;

  @Column('text', { name: 'access_token' })
  accessToken: string;

  @Column('text', { name: 'refresh_token', nullable: true })
  refreshToken: string | null;

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

/** The table `oauth_flow`, for the comparison of entities with the schema. */
@Entity('oauth_flow')
@Index('oauth_flow_athlete_id', ['athleteId'])
@Index('oauth_flow_expires_at', ['expiresAt'])
@Index('oauth_flow_confirm_hash', ['confirmHash'], { unique: true })
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

  @ManyToOne(() => VendorRow, { nullable: false })
  @JoinColumn({ name: 'provider', foreignKeyConstraintName: 'oauth_flow_provider' })
  vendor: VendorRow;

  @Column('text', { name: 'return_url', nullable: true })
  returnUrl: string | null;

  @Column('text', { nullable: true })
  verifier: string | null;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column('text', { nullable: true })
  account: string | null;

  @Column('text', { nullable: true })
  code: string | null;

  @Column('text', { nullable: true })
  scope: string | null;

  @Column('bytea', { name: 'confirm_hash', nullable: true })
  confirmHash: Buffer | null;

  @Column('bytea', { name: 'browser_hash', nullable: true })
  browserHash: Buffer | null;

  @Column('timestamptz', { name: 'confirm_until', nullable: true })
  confirmUntil: Date | null;

  @Column('timestamptz', { name: 'used_at', nullable: true })
  usedAt: Date | null;

  @Column('text', { name: 'begun_by', nullable: true })
  begunBy: string | null;
}

/** The table `service_key`, for the comparison of entities with the schema. */
@Entity('service_key')
@Unique('service_key_hash', ['hash'])
@Index('service_key_created_at', ['createdAt', 'id'])
export class ServiceKeyRow {
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'service_key_pkey' })
  id: string;

  @Column('text')
  name: string;

  @Column('text', { array: true })
  scopes: string[];

  @Column('bytea')
  hash: Buffer;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;

  @Column('timestamptz', { name: 'last_used_at', nullable: true })
  lastUsedAt: Date | null;
}

/** The table `session`, for the comparison of entities with the schema. */
@Entity('session')
@Check('session_role', "role in ('athlete', 'admin')")
@Index('session_athlete_id', ['athleteId', 'createdAt'])
@Index('session_expires_at', ['expiresAt'])
export class SessionRow {
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'session_pkey' })
  hash: Buffer;

  @Column('uuid', { name: 'athlete_id' })
  athleteId: string;

  @ManyToOne(() => Athlete, { onDelete: 'CASCADE', nullable: false })
  @JoinColumn({ name: 'athlete_id', foreignKeyConstraintName: 'session_athlete' })
  athlete: Athlete;

  @Column('text')
  role: string;

  @Column('text')
  account: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;
}

/** The table `sign_in_code`, for the comparison of entities with the schema. */
@Entity('sign_in_code')
@Check('sign_in_code_role', "role in ('athlete', 'admin')")
export class SignInCodeRow {
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'sign_in_code_pkey' })
  hash: Buffer;

  @Index('sign_in_code_athlete_id')
  @Column('uuid', { name: 'athlete_id' })
  athleteId: string;

  @ManyToOne(() => Athlete, { onDelete: 'CASCADE', nullable: false })
  @JoinColumn({ name: 'athlete_id', foreignKeyConstraintName: 'sign_in_code_athlete' })
  athlete: Athlete;

  @Column('text')
  role: string;

  @Column('text')
  account: string;

  @Index('sign_in_code_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column('timestamptz', { name: 'token_expires_at' })
  tokenExpiresAt: Date;
}

/** The table `revocation`, for the comparison of entities with the schema. */
@Entity('revocation')
@Index('revocation_next_attempt_at', ['nextAttemptAt'])
@Index('revocation_vendor_athlete', ['provider', 'vendorAthleteId'])
export class Revocation {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'revocation_pkey' })
  id: string;

  @Column('text')
  provider: string;

  @ManyToOne(() => VendorRow, { nullable: false })
  @JoinColumn({ name: 'provider', foreignKeyConstraintName: 'revocation_provider' })
  vendor: VendorRow;

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

  @Column('timestamptz', { name: 'leased_until', nullable: true })
  leasedUntil: Date | null;

  @Column('bigint', { default: 0 })
  fence: string;
}
