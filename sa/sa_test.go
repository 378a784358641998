package sa_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"
	"heddle/umad/umadtest"
)

// answer is what a scripted server says.
type answer struct {
	status  mad.Status
	records []mad.Attribute
	// plain sends a table as OpenSM does where nobody runs RMPP for it.
	plain bool
}

// script is a server: it answers every request by what it returns.
type script func(m *umad.Message) answer

// serve answers by the script.
func serve(t testing.TB, port *umad.Port, device umad.Device, s script) {
	t.Helper()
	a := umad.Agent{Class: mad.ClassSA, Version: 2, RMPP: true, Methods: []mad.Method{
		mad.MethodGet, mad.MethodSet, mad.MethodDelete, mad.MethodGetTable, mad.MethodGetMulti,
	}}
	err := port.Handle(a, func(m *umad.Message) {
		answer := s(m)
		send := port.Send
		if answer.plain {
			send = func(m *umad.Message) error { return device.Send(m, 0) }
		}
		if err := send(answer.message(m)); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// message is the answer to a request.
func (a answer) message(req *umad.Message) *umad.Message {
	d := *req.Datagram()
	table := d.Method() == mad.MethodGetTable || d.Method() == mad.MethodGetMulti
	method, _ := d.Method().Response()
	d.SetMethod(method)
	d.SetStatus(a.status)
	rmpp := mad.RMPPHeader{}
	if table && a.status == mad.StatusOK {
		rmpp.Flags = mad.RMPPActive
	}
	d.SetRMPP(rmpp)
	if len(a.records) > 0 {
		d.SetAttributeOffset(mad.RecordOffset(a.records[0]))
	}
	data := append([]byte(nil), d[:56]...)
	for _, r := range a.records {
		data = mad.AppendRecord(data, r)
	}
	if rmpp.Flags == 0 || a.plain {
		data = append(data, make([]byte, mad.Size)...)[:mad.Size]
	}
	return &umad.Message{Address: req.Address, Data: data}
}

// bed is a client and a server, and the port of the client.
type bed struct {
	client *sa.Client
	near   *umad.Port
	server *umad.Port
	device *umadtest.Device // of the client
	peer   *umadtest.Device
}

// run runs a test in virtual time.
func run(t *testing.T, o umadtest.Options, s script, test func(t *testing.T, b bed)) {
	runWith(t, o, sa.Options{}, s, test)
}

func runWith(t *testing.T, o umadtest.Options, so sa.Options, s script, test func(t *testing.T, b bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		near, far := umadtest.Pair(o)
		b := bed{near: umad.NewPort(near), server: umad.NewPort(far), device: near, peer: far}
		defer func() {
			if err := errors.Join(b.near.Close(), b.server.Close()); err != nil {
				t.Error(err)
			}
		}()
		serve(t, b.server, far, s)
		b.client = sa.New(b.near, so)
		test(t, b)
	})
}

// unexpected is the script of a test in which nothing is asked.
func unexpected(t *testing.T) script {
	return func(m *umad.Message) answer {
		t.Errorf("asked %v", m.Datagram().Header())
		return answer{status: mad.StatusBadMethod}
	}
}

// nodes are n records that differ.
func nodes(n int) []mad.NodeRecord {
	all := make([]mad.NodeRecord, n)
	for i := range all {
		guid := ib.GUID(0x0002c90300000000 + i*16)
		all[i] = mad.NodeRecord{
			LID:         ib.LID(i + 1),
			Info:        mad.NodeInfo{BaseVersion: 1, ClassVersion: 1, NodeType: 1, NumPorts: 1, NodeGUID: guid, PortGUID: guid + 1, SystemImageGUID: guid, PartitionCap: uint16(i)},
			Description: mad.NewNodeDescription("host " + guid.String()),
		}
	}
	return all
}

// attributes are records as a script returns them.
func attributes[R mad.Attribute](records []R) []mad.Attribute {
	all := make([]mad.Attribute, len(records))
	for i, r := range records {
		all[i] = r
	}
	return all
}

// TestTableOnABadLink is a table of 10,000 records, with a fifth of all
// datagrams lost, others twice or in another order.
func TestTableOnABadLink(t *testing.T) {
	want := nodes(10_000)
	reply := answer{records: attributes(want)}
	for seed := range uint64(3) {
		o := umadtest.Options{Seed: seed, Loss: 0.2, Duplicate: 0.1, Delay: time.Millisecond, Jitter: 2 * time.Millisecond}
		run(t, o, func(*umad.Message) answer { return reply }, func(t *testing.T, b bed) {
			start := time.Now()
			got, err := sa.Query(t.Context(), b.client, mad.NodeRecord{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d records came, or others than the %d that were sent", len(got), len(want))
			}
			t.Logf("seed %d: %v, %d datagrams of the server, %d of the client", seed, time.Since(start), b.peer.Sent(), b.device.Sent())
		})
	}
}

func TestGet(t *testing.T) {
	want := nodes(3)[2]
	check := func(m *umad.Message) answer {
		d := m.Datagram()
		h := mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGet, TID: d.TID(), Attr: mad.AttrNodeRecord}
		if diff := cmp.Diff(h, d.Header()); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
		sh := mad.SAHeader{SMKey: 7, ComponentMask: mad.NodeRecordLID}
		if diff := cmp.Diff(sh, d.SAHeader()); diff != "" {
			t.Errorf("SA header (-want +got):\n%s", diff)
		}
		if r, err := mad.ParseNodeRecord(d.Data()); err != nil || r != (mad.NodeRecord{LID: 3}) {
			t.Errorf("asked for %+v, %v", r, err)
		}
		return answer{records: []mad.Attribute{want}}
	}
	runWith(t, umadtest.Options{}, sa.Options{SMKey: 7}, check, func(t *testing.T, b bed) {
		got, err := sa.Get(t.Context(), b.client, mad.NodeRecord{LID: 3}, mad.NodeRecordLID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if sent := b.device.Last(); sent.LID != 1 || sent.QPN != ib.GSIQPN || sent.QKey != ib.GSIQKey {
			t.Errorf("asked at %+v, want the subnet manager of the port", sent.Address)
		}
	})
}

func TestRefused(t *testing.T) {
	run(t, umadtest.Options{}, func(*umad.Message) answer { return answer{status: mad.StatusSATooManyRecords} }, func(t *testing.T, b bed) {
		_, err := sa.Get(t.Context(), b.client, mad.NodeRecord{}, 0)
		var typed *umad.StatusError
		if !errors.As(err, &typed) || typed.Status != mad.StatusSATooManyRecords {
			t.Errorf("Get: %v", err)
		}
		_, err = sa.Query(t.Context(), b.client, mad.NodeRecord{}, 0)
		if !errors.As(err, &typed) || typed.Op != mad.MethodGetTableResp {
			t.Errorf("Query: %v", err)
		}
	})
}

func TestQuery(t *testing.T) {
	three := nodes(3)
	service := mad.ServiceRecord{ServiceID: 5}
	tests := []struct {
		name   string
		answer answer
		want   []mad.NodeRecord
		err    error
	}{
		{"three", answer{records: attributes(three)}, three, nil},
		{"none", answer{}, nil, nil},
		{"no records", answer{status: mad.StatusSANoRecords}, nil, nil},
		{"cut", answer{records: attributes(three), plain: true}, three[:1], sa.ErrCut},
		{"none, cut", answer{plain: true}, nil, nil},
		{"others", answer{records: []mad.Attribute{mad.PathRecord{}}}, nil, mad.ErrShort},
		{"others, longer", answer{records: []mad.Attribute{service}}, []mad.NodeRecord{{}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run(t, umadtest.Options{}, func(*umad.Message) answer { return test.answer }, func(t *testing.T, b bed) {
				got, err := sa.Query(t.Context(), b.client, mad.NodeRecord{}, 0)
				if !errors.Is(err, test.err) || len(got) != len(test.want) {
					t.Fatalf("%d records, error %v, want %d, %v", len(got), err, len(test.want), test.err)
				}
				if test.name != "others, longer" && !slices.Equal(got, test.want) {
					t.Errorf("records (-want +got):\n%s", cmp.Diff(test.want, got))
				}
			})
		})
	}
}

// TestQueryCutRecord is a record that is longer than what comes of a datagram.
func TestQueryCutRecord(t *testing.T) {
	reply := answer{records: []mad.Attribute{mad.ServiceRecord{ServiceID: 5}}, plain: true}
	run(t, umadtest.Options{}, func(*umad.Message) answer { return reply }, func(t *testing.T, b bed) {
		got, err := sa.Query(t.Context(), b.client, mad.ServiceRecord{}, 0)
		if !errors.Is(err, sa.ErrCut) || len(got) != 0 {
			t.Errorf("%d records, error %v", len(got), err)
		}
	})
}

// TestPaths asks by RMPP as well.
func TestPaths(t *testing.T) {
	query := mad.MultiPathRecord{NumbPath: 1, Reversible: true}
	for i := range ib.GUID(40) {
		query.SGIDs = append(query.SGIDs, ib.NewGID(ib.DefaultPrefix, i+1))
		query.DGIDs = append(query.DGIDs, ib.NewGID(ib.DefaultPrefix, i+101))
	}
	answerPaths := func(m *umad.Message) answer {
		got, err := mad.ParseMultiPathRecord(m.Data[56:])
		if diff := cmp.Diff(query, got); err != nil || diff != "" {
			t.Errorf("asked %v (-want +got):\n%s", err, diff)
		}
		var paths []mad.PathRecord
		for _, s := range got.SGIDs {
			for _, d := range got.DGIDs {
				paths = append(paths, mad.PathRecord{SGID: s, DGID: d})
			}
		}
		return answer{records: attributes(paths)}
	}
	o := umadtest.Options{Seed: 4, Loss: 0.1, Delay: time.Millisecond}
	run(t, o, answerPaths, func(t *testing.T, b bed) {
		paths, err := b.client.Paths(t.Context(), query, mad.MultiPathRecordNumbPath)
		if err != nil || len(paths) != 1600 || paths[1599].DGID != query.DGIDs[39] {
			t.Errorf("%d paths, error %v", len(paths), err)
		}
	})
	query.SGIDs = make([]ib.GID, 256)
	run(t, o, unexpected(t), func(t *testing.T, b bed) {
		if _, err := b.client.Paths(t.Context(), query, 0); err == nil {
			t.Error("256 source GIDs are no error")
		}
	})
}

func TestBusy(t *testing.T) {
	asked, busy := 0, 3
	s := func(*umad.Message) answer {
		if asked++; asked <= busy {
			return answer{status: mad.StatusBusy}
		}
		return answer{records: attributes(nodes(1))}
	}
	run(t, umadtest.Options{}, s, func(t *testing.T, b bed) {
		start := time.Now()
		_, err := sa.Get(t.Context(), b.client, mad.NodeRecord{}, 0)
		if want := (50 + 100 + 200) * time.Millisecond; err != nil || asked != 4 || time.Since(start) != want {
			t.Errorf("error %v, asked %d times in %v, want 4 in %v", err, asked, time.Since(start), want)
		}
		asked, busy = 0, 1000
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = sa.Get(ctx, b.client, mad.NodeRecord{}, 0)
		var typed *umad.StatusError
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &typed) || typed.Status != mad.StatusBusy {
			t.Errorf("busy for ever: %v", err)
		}
		if asked < 12 || asked > 20 {
			t.Errorf("asked %d times in a minute", asked)
		}
	})
}

func TestNoAnswer(t *testing.T) {
	run(t, umadtest.Options{Loss: 1}, unexpected(t), func(t *testing.T, b bed) {
		start := time.Now()
		if _, err := sa.Get(t.Context(), b.client, mad.NodeRecord{}, 0); !errors.Is(err, umad.ErrTimeout) || time.Since(start) != 4*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

// movingSM is a port whose subnet manager moves.
type movingSM struct {
	*umadtest.Device
	lid *ib.LID
}

func (d movingSM) Info() (umad.Info, error) {
	info, err := d.Device.Info()
	info.SMLID = *d.lid
	return info, err
}

func TestSubnetManagerMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lid := ib.LID(0)
		near, _ := umadtest.Pair(umadtest.Options{Loss: 1})
		port := umad.NewPort(movingSM{near, &lid})
		defer func() { _ = port.Close() }()
		client := sa.New(port, sa.Options{})
		if _, err := sa.Get(t.Context(), client, mad.NodeRecord{}, 0); !errors.Is(err, sa.ErrNoSM) {
			t.Errorf("without a subnet manager: %v", err)
		}
		for _, lid = range []ib.LID{5, 9} {
			if _, err := sa.Get(t.Context(), client, mad.NodeRecord{}, 0); !errors.Is(err, umad.ErrTimeout) {
				t.Errorf("error %v", err)
			}
			if got := near.Last().LID; got != lid {
				t.Errorf("asked LID %s, want %s", got, lid)
			}
		}
	})
}

func TestAddress(t *testing.T) {
	to := umad.ToLID(77)
	run := func(t *testing.T, b bed) {
		if _, err := sa.Get(t.Context(), b.client, mad.NodeRecord{}, 0); err != nil || b.device.Last().LID != 77 {
			t.Errorf("error %v, asked LID %s", err, b.device.Last().LID)
		}
	}
	runWith(t, umadtest.Options{}, sa.Options{Address: &to}, func(*umad.Message) answer { return answer{} }, run)
}

// BenchmarkTable asks for a table of 10,000 records over a good link.
func BenchmarkTable(b *testing.B) {
	near, far := umadtest.Pair(umadtest.Options{})
	port, server := umad.NewPort(near), umad.NewPort(far)
	b.Cleanup(func() { _, _ = port.Close(), server.Close() })
	want := nodes(10_000)
	reply := answer{records: attributes(want)}
	serve(b, server, far, func(*umad.Message) answer { return reply })
	client := sa.New(port, sa.Options{})
	b.SetBytes(int64(len(want) * 8 * int(mad.RecordOffset(want[0]))))
	for b.Loop() {
		if got, err := sa.Query(b.Context(), client, mad.NodeRecord{}, 0); err != nil || len(got) != len(want) {
			b.Fatalf("%d records, error %v", len(got), err)
		}
	}
}
