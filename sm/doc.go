// Package sm is the subnet manager: it brings a subnet up and keeps it up.
//
// A Manager is the shell, which has the port and the clock, around cores that
// have neither. It takes part in the election of the master (sm/election). As
// master it sweeps the subnet (sm/subnet), plans what the subnet should be
// (sm/plan, sm/multicast), and sends what differs, stage by stage. It answers
// subnet administration (sm/admin), whose joins fill the table of groups
// (sm/group), and keeps what must outlive it (sm/store, sm/replica).
//
//	m, err := sm.New(port, sm.Config{Unicast: engines, Multicast: treeEngines})
//	...
//	err = m.Run(ctx) // or, to bring a subnet up once:
//	report, err := m.Sweep(ctx)
package sm
