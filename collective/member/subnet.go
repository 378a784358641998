// Package member brings the ranks of a program into a multicast group:
//
//	Subnet     asks the subnet manager of an InfiniBand subnet, by the protocol of
//	           the paper: all ports join and tell how many they will be, the manager
//	           lays one tree when all are there, and one rank asks until it is Ready
//	Ethernet   tells the network by IGMP or MLD, for RoCEv2
//
// Both are Joiners of package collective, whose groups have rank 0 wait for Ready
// and tell all others by the group itself.
//
//	g, err := collective.New(ctx, dev, rank, size, exchange, collective.Config{
//		Joiner: &member.Subnet{Client: client, Group: mgid, Ports: hosts},
//	})
package member

import (
	"context"
	"fmt"
	"time"

	"heddle/collective"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
)

// Subnet is a member of a group of an InfiniBand subnet. It is for one rank.
type Subnet struct {
	// Client asks subnet administration, from the port that becomes a member.
	Client *sa.Client
	Group  ib.MGID
	// Ports is how many ports the group will have, each counted once however many
	// ranks use it. With 0 the group is routed as members come and go, and nobody
	// can tell when it is ready; so it is with managers that do not collect.
	Ports uint16
	// QKey, PKey and SL are what the group is created with: by default a Q_Key of
	// its own, the default partition, and service level 0.
	QKey ib.QKey
	PKey ib.PKey
	SL   ib.SL
	// Pause is the longest one between two questions whether the group is ready,
	// 50 ms by default.
	Pause time.Duration
}

const (
	defaultQKey  ib.QKey = 0x0b1b
	defaultPause         = 50 * time.Millisecond
)

var _ collective.Joiner = (*Subnet)(nil)

// Join implements collective.Joiner.
func (s *Subnet) Join(ctx context.Context) (collective.Multicast, error) {
	r := mad.MCMemberRecord{MGID: s.Group, QKey: s.QKey, PKey: s.PKey, SL: s.SL, MemberCount: s.Ports}
	if r.QKey == 0 {
		r.QKey = defaultQKey
	}
	if r.PKey == 0 {
		r.PKey = ib.DefaultPKey
	}
	mask := sa.MCMemberCreate
	if s.Ports > 0 {
		mask |= mad.MCMemberRecordMemberCount
	}
	got, err := s.Client.Join(ctx, r, mask)
	if err != nil {
		return collective.Multicast{}, err
	}
	return collective.Multicast{Group: got.MGID, LID: got.MLID, QKey: got.QKey, SL: got.SL, HopLimit: got.HopLimit}, nil
}

// Ready implements collective.Joiner.
func (s *Subnet) Ready(ctx context.Context) error {
	if s.Ports == 0 {
		return nil
	}
	pause := s.Pause
	if pause == 0 {
		pause = defaultPause
	}
	r, err := s.Client.AwaitReady(ctx, s.Group, pause)
	if err != nil {
		return fmt.Errorf("group %v, %v, %d of %d ports: %w", s.Group, r.State, r.Joined, s.Ports, err)
	}
	return nil
}

// Leave implements collective.Joiner.
func (s *Subnet) Leave(ctx context.Context) error {
	return s.Client.Leave(ctx, mad.MCMemberRecord{MGID: s.Group})
}
