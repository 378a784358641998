package mad

import "heddle/ib"

var (
	gidA  = ib.MustParseGID("fe80::1122:3344:5566:7788")
	gidB  = ib.MustParseGID("fec0::99aa:bbcc:ddee:ff01")
	mgidA = ib.MustParseMGID("ff15:a01b:8001:203:405:607:809:a0b")

	sampleMCMemberRecord = MCMemberRecord{
		MGID: mgidA, PortGID: gidA, QKey: 0x11223344, MLID: 0xC123,
		MTUSelector: SelectExactly, MTU: ib.MTU4096, TClass: 0x55, PKey: 0x8ABC,
		RateSelector: SelectLess, Rate: ib.Rate200, LifetimeSelector: SelectLargest, Lifetime: 18,
		SL: 11, FlowLabel: 0xABCDE, HopLimit: 0x42, Scope: ib.ScopeOrganization, JoinState: JoinFull | JoinSendOnly,
		ProxyJoin: true, MemberCount: 0x2345,
	}
	samplePathRecord = PathRecord{
		ServiceID: 0x1122334455667788, DGID: gidB, SGID: gidA, DLID: 0x0102, SLID: 0x0304,
		RawTraffic: true, FlowLabel: 0xABCDE, HopLimit: 0x42, TClass: 0x55, Reversible: true, NumbPath: 0x2A,
		PKey: 0x8ABC, QoSClass: 0xCDE, SL: 11, MTUSelector: SelectExactly, MTU: ib.MTU4096,
		RateSelector: SelectLess, Rate: ib.Rate200, LifetimeSelector: SelectLargest, Lifetime: 18, Preference: 0x77,
	}
	sampleMultiPathRecord = MultiPathRecord{
		RawTraffic: true, FlowLabel: 0xABCDE, HopLimit: 0x42, TClass: 0x55, Reversible: true, NumbPath: 0x2A,
		PKey: 0x8ABC, QoSClass: 0xCDE, SL: 11, MTUSelector: SelectExactly, MTU: ib.MTU4096,
		RateSelector: SelectLess, Rate: ib.Rate200, LifetimeSelector: SelectLargest, Lifetime: 18,
		ServiceID: 0x1122334455667788, Independence: 1, SGIDs: []ib.GID{gidA, gidB}, DGIDs: []ib.GID{gidB},
	}
	sampleInformInfo = InformInfo{
		GID: gidA, LIDRangeBegin: 0x0102, LIDRangeEnd: 0x0304, IsGeneric: true, Subscribe: true,
		Type: InformType(NoticeSubnetManagement), Trap: TrapGroupCreated, QPN: 0x123456, RespTime: 18, Producer: ProducerManager,
	}
	sampleServiceRecord = ServiceRecord{
		ServiceID: 0x1122334455667788, ServiceGID: gidA, ServicePKey: 0x8ABC, ServiceLease: 0x01020304,
		ServiceKey: [16]byte{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31}, ServiceName: NewServiceName("heddle.test"),
		Data8:  [16]uint8{0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8B, 0x8C, 0x8D, 0x8E, 0x8F, 0x90},
		Data16: [8]uint16{0x1601, 0x1602, 0x1603, 0x1604, 0x1605, 0x1606, 0x1607, 0x1608},
		Data32: [4]uint32{0x32000001, 0x32000002, 0x32000003, 0x32000004},
		Data64: [2]uint64{0x6400000000000001, 0x6400000000000002},
	}
	sampleNotice = Notice{
		IsGeneric: true, Type: NoticeSubnetManagement, Producer: ProducerManager, Trap: TrapGroupCreated,
		IssuerLID: 0x0102, Toggle: true, Count: 0x1234, Details: GIDDetails{mgidA.GID()}.Pack(), IssuerGID: gidA,
	}
	sampleSAClassPortInfo = ClassPortInfo{
		BaseVersion: 1, ClassVersion: 2, CapabilityMask: SACapOptionalRecords, CapabilityMask2: SACap2MulticastFDBTop,
	}
	sampleMCGStateRecord = MCGStateRecord{MGID: mgidA, State: MCGComputingRoutes, MemberCount: 0x1234, Joined: 0x0789}
)

// sampleOf is the sample of an attribute of subnet management.
func sampleOf[A Attribute]() A {
	for _, s := range samples() {
		if a, ok := s.value.(A); ok {
			return a
		}
	}
	panic("no such sample")
}

// sampleRecords are one of each record, with a value of its own in every field.
func sampleRecords() []Record {
	const lid = 0x0A0B
	return []Record{
		NodeRecord{LID: lid, Info: sampleNodeInfo, Description: NewNodeDescription("sw1 # 36 ports")},
		PortInfoRecord{LID: lid, PortNum: 17, Options: 0x80, Info: samplePortInfo},
		SLtoVLRecord{LID: lid, InputPort: 12, OutputPort: 34, Mapping: sampleOf[SLtoVLMapping]()},
		SwitchInfoRecord{LID: lid, Info: sampleSwitchInfo},
		LFTRecord{LID: lid, Block: 0x0123, Ports: sampleOf[LinearForwarding]()},
		MFTRecord{LID: lid, Position: 9, Block: 0x155, Ports: sampleOf[MulticastForwarding]()},
		SMInfoRecord{LID: lid, Info: sampleOf[SMInfo]()},
		InformInfoRecord{SubscriberGID: gidB, Enum: 0x0506, Info: sampleInformInfo},
		LinkRecord{FromLID: lid, FromPort: 12, ToPort: 34, ToLID: 0x0C0D},
		GUIDInfoRecord{LID: lid, Block: 7, GUIDs: sampleOf[GUIDInfo]()},
		sampleServiceRecord,
		PKeyRecord{LID: lid, Block: 0x0202, Port: 34, PKeys: sampleOf[PKeyTable]()},
		samplePathRecord,
		VLArbitrationRecord{LID: lid, OutputPort: 34, Block: VLArbitrationHighFirst, Table: sampleOf[VLArbitration]()},
		sampleMCMemberRecord,
		sampleMCGStateRecord,
	}
}

// sampleSA are one of each attribute of subnet administration.
func sampleSA() []sample {
	all := []sample{
		{ClassSA, AttrNotice, sampleNotice},
		{ClassSA, AttrInformInfo, sampleInformInfo},
		{ClassSA, AttrMultiPathRecord, sampleMultiPathRecord},
	}
	for _, r := range sampleRecords() {
		all = append(all, sample{ClassSA, r.AttrID(), r})
	}
	return all
}
