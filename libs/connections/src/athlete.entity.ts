import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('athlete')
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
