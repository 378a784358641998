package admin

import (
	"bytes"
	"errors"
	"fmt"

	"heddle/ib"
	"heddle/mad"
)

// Change is a subscription, a service or a port's aliases that came, changed or went, as a record
// that a restart and another manager need.
type Change struct {
	// Bucket is BucketSubscriptions, BucketServices or BucketAliases.
	Bucket string
	Key    []byte
	// Value is nil for what is gone. Its form is that of KeepVersion.
	Value []byte
}

// What Changes are of.
const (
	BucketSubscriptions = "subscriptions"
	BucketServices      = "services"
	BucketAliases       = "aliases"

	KeepVersion uint8 = 1
)

// ErrKept is the error of a Change that is malformed.
var ErrKept = errors.New("not a kept subscription or service")

// Restore takes a Change that this server, or another one, told Config.Journal.
// It is not told again. The error wraps ErrKept; nothing is changed then. Limits
// are not looked at.
func (s *Server) Restore(c Change) error {
	switch c.Bucket {
	case BucketSubscriptions:
		return s.subscriptions.restore(c)
	case BucketServices:
		return s.services.restore(c)
	case BucketAliases:
		return s.aliases.restore(c)
	default:
		return fmt.Errorf("%w: bucket %q", ErrKept, c.Bucket)
	}
}

// note tells the journal, if there is one.
func note(journal func(Change), bucket string, key, value []byte) {
	if journal != nil {
		journal(Change{bucket, key, value})
	}
}

const (
	guidLen         = 8
	informLen       = 36
	subscriptionLen = 3 + informLen
	serviceKeyLen   = 26
	serviceLen      = 16 + 176
)

// key is what a subscription is told by.
func (s *subscription) key(guid ib.GUID) []byte {
	info := s.info
	info.RespTime, info.Subscribe = 0, true
	return info.AppendTo(be.AppendUint64(nil, uint64(guid)))
}

func (s *subscription) value() []byte {
	b := []byte{0}
	if s.trusted {
		b[0] = 1
	}
	return s.info.AppendTo(be.AppendUint16(b, s.enum))
}

func (s *subscriptions) restore(c Change) error {
	if len(c.Key) != guidLen+informLen || c.Value != nil && (len(c.Value) != subscriptionLen || c.Value[0] > 1) {
		return fmt.Errorf("%w: key of %d and value of %d bytes", ErrKept, len(c.Key), len(c.Value))
	}
	info, err := mad.ParseInformInfo(c.Key[guidLen:])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKept, err)
	}
	guid, sub := ib.GUID(be.Uint64(c.Key)), subscription{}
	if c.Value != nil {
		sub.trusted, sub.enum = c.Value[0] == 1, be.Uint16(c.Value[1:])
		if sub.info, err = mad.ParseInformInfo(c.Value[3:]); err != nil || !bytes.Equal(sub.key(guid), c.Key) {
			return fmt.Errorf("%w: the key is another's", ErrKept)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(guid, info)
	if c.Value != nil {
		s.add(guid, sub)
	}
	return nil
}

func (k serviceKey) bytes() []byte {
	b := append(be.AppendUint64(nil, k.id), k.gid[:]...)
	return be.AppendUint16(b, uint16(k.pkey))
}

func (s *service) value() []byte {
	b := be.AppendUint64(nil, uint64(s.owner))
	return s.record.AppendTo(be.AppendUint64(b, uint64(s.ends)))
}

func (s *services) restore(c Change) error {
	if len(c.Key) != serviceKeyLen || c.Value != nil && len(c.Value) != serviceLen {
		return fmt.Errorf("%w: key of %d and value of %d bytes", ErrKept, len(c.Key), len(c.Value))
	}
	k := serviceKey{be.Uint64(c.Key), ib.GID(c.Key[8:24]), ib.PKey(be.Uint16(c.Key[24:]))}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Value == nil {
		s.remove(s.all[k])
		return nil
	}
	record, err := mad.ParseServiceRecord(c.Value[16:])
	if err != nil || keyOf(&record) != k {
		return fmt.Errorf("%w: the key is another's", ErrKept)
	}
	s.remove(s.all[k])
	s.add(&service{record: record, owner: ib.GUID(be.Uint64(c.Value)), ends: int64(be.Uint64(c.Value[8:]))})
	return nil
}
