#include "base/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/descriptor_file.h"
#include "base/hash.h"
#include "support/other_value.h"

namespace dovetail::base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

enum class Colour { red, green };
constexpr auto names_of(Colour) {
  return std::array{EnumName{"red", Colour::red}, EnumName{"green", Colour::green, "as green as grass"}};
}

struct Wheels {
  int count = 4;

  friend bool operator==(const Wheels&, const Wheels&) = default;
};
constexpr auto fields_of(const Wheels*) { return fields<Wheels>(field("count", &Wheels::count, Integer{1, 8})); }

/// A member of each kind, not in the order of its fields.
struct Car {
  bool roof = true;
  std::string name = {};
  std::int64_t seats = 4;
  double litres = 5.5;
  double doors = 0;
  Colour colour = Colour::red;
  std::vector<int> gears = {};
  Ticks to_hundred = {};
  std::optional<Wheels> wheels = {};
  bool radio = false;

  friend bool operator==(const Car&, const Car&) = default;
};
constexpr auto fields_of(const Car*) {
  return fields<Car>(field("name", &Car::name, Name{}, {.hashed = Hashed::never}),
                     field("seats", &Car::seats, Integer{1, 9}, {.what = "the number of seats", .phrase = "{} seats"}),
                     field("litres", &Car::litres, Number{0, 20}, {.phrase = "{} litres"}),
                     field("doors", &Car::doors, Integer{0, 5}), field("roof", &Car::roof, Flag{}),
                     field("colour", &Car::colour, Choice{}, {.phrase = "{}"}),
                     field("gears", &Car::gears, IntegerList{"a gear", 1, 9}),
                     field("to_hundred", &Car::to_hundred, Seconds{}), field("wheels", &Car::wheels, OptionalStruct{}),
                     field("radio", &Car::radio, Flag{},
                           {.phrase = "with a radio",
                            .otherwise = "without a radio",
                            .hashed = Hashed::non_default,
                            .applies = [](const Car& car) { return car.roof; },
                            .only_with = "`roof: true`"}));
}

struct Flags {
  bool a = false;
  bool b = false;

  friend bool operator==(const Flags&, const Flags&) = default;
};
constexpr auto fields_of(const Flags*) {
  return fields<Flags>(field("a", &Flags::a, Flag{}), field("b", &Flags::b, Flag{}));
}

Result<Partial<Wheels>> read_wheels(const std::string& text) {
  const Document document = parse_yaml(text, "car.yaml").value();
  return read_partial<Wheels>(document.root(), "a set of wheels");
}

TEST(MemberCount, CountsMembersOfAnyType) {
  struct Empty {};
  struct NoDefault {
    explicit NoDefault(int) {}
  };
  struct Holder {
    NoDefault first;
    std::vector<std::string> second;
    std::optional<std::vector<int>> third;
    Car fourth;
    bool (*fifth)(int) = nullptr;
  };
  static_assert(member_count<Empty> == 0);
  static_assert(member_count<Flags> == 2);
  static_assert(member_count<Car> == 10);
  static_assert(member_count<Holder> == 5);
}

TEST(Descriptor, ListsKeysInOrder) {
  EXPECT_THAT(keys_of<Car>(), ElementsAre("name", "seats", "litres", "doors", "roof", "colour", "gears", "to_hundred",
                                          "wheels", "radio"));
  static_assert(key_of(&Car::doors) == "doors" && key_of(&Car::litres) == "litres");
  static_assert(index_of(&Car::name) == 0 && index_of(&Car::radio) == 9);
}

TEST(EnumNames, RoundTrip) {
  EXPECT_EQ(enum_name(Colour::green), "green");
  EXPECT_EQ(enum_text(Colour::green), "as green as grass");
  EXPECT_EQ(enum_text(Colour::red), "red");
  EXPECT_THAT(enum_named<Colour>("green"), Optional(Colour::green));
  EXPECT_EQ(enum_named<Colour>("as green as grass"), std::nullopt);
}

TEST(ReadFields, SetsGivenFieldsAndKeepsOthers) {
  const Document document = parse_yaml(
                                "{seats: 2, litres: 7.25, doors: 3, roof: true, colour: green, gears: [1, 5], "
                                "to_hundred: 9.5, wheels: {count: 3}, radio: true, name: Herbie, wings: 2}",
                                "car.yaml")
                                .value();
  Car car;
  ASSERT_TRUE(read_fields(document.root(), car).ok());
  EXPECT_EQ(car, (Car{true, "Herbie", 2, 7.25, 3, Colour::green, {1, 5}, Ticks(9'500'000'000), Wheels{3}, true}));
}

TEST(ReadFields, ReportsEachErrorAtItsPlace) {
  const auto error_of = [](const std::string& text) {
    const Document document = parse_yaml(text, "car.yaml").value();
    Car car;
    const Status status = read_fields(document.root(), car);
    return status.ok() ? "none" : to_text(status.error());
  };
  EXPECT_EQ(error_of("{seats: 10}"), "car.yaml:1:9: `seats` must be an integer from 1 to 9, not 10");
  EXPECT_EQ(error_of("{litres: x}"), "car.yaml:1:10: `litres` must be a number from 0 to 20, not the string `x`");
  EXPECT_EQ(error_of("{roof: 1}"), "car.yaml:1:8: `roof` is 1; accepted: true or false");
  EXPECT_EQ(error_of("{colour: blue}"), "car.yaml:1:10: `colour` is the string `blue`; accepted: red, green");
  EXPECT_EQ(error_of("{gears: 3}"), "car.yaml:1:9: `gears` is 3; accepted: a list of integers");
  EXPECT_EQ(error_of("{gears: [3, 0]}"), "car.yaml:1:13: a gear must be an integer from 1 to 9, not 0");
  EXPECT_EQ(error_of("{to_hundred: -1}"),
            "car.yaml:1:14: `to_hundred`: -1 is negative; accepted: a number from 0 to 1000000 s");
  EXPECT_EQ(error_of("{wheels: {size: 3}}"), "car.yaml:1:11: unknown key `size` in `wheels`; accepted: count");
  EXPECT_EQ(error_of("{radio: true, roof: false}"), "car.yaml:1:9: `radio` is accepted only with `roof: true`");
}

TEST(ReadPartial, RecordsGivenFields) {
  EXPECT_TRUE(read_wheels("{}").value().empty());
  const Partial<Wheels> four = read_wheels("{count: 4}").value();
  EXPECT_NE(four, Partial<Wheels>{}) << "the default, but said";
  EXPECT_THAT(four.find(&Wheels::count), Optional(4));
  EXPECT_EQ(to_text(read_wheels("{size: 4}").error()),
            "car.yaml:1:2: unknown key `size` in a set of wheels; accepted: count");
}

TEST(ReadFlags, ReadsAListOfNames) {
  const auto read = [](const std::string& text) {
    const Document document = parse_yaml(text, "flags.yaml").value();
    return read_flags<Flags>(document.root(), "these");
  };
  EXPECT_EQ(read("[b]").value(), (Flags{false, true}));
  EXPECT_EQ(json_flags(read("[b, a]").value()), R"(["a", "b"])");
  EXPECT_EQ(json_flags(Flags{}), "[]");
  EXPECT_EQ(to_text(read("3").error()), "flags.yaml:1:1: `these` is 3; accepted: a list with any of a, b");
  EXPECT_EQ(to_text(read("[c]").error()),
            "flags.yaml:1:2: an item of `these` is the string `c`; accepted: a list with any of a, b");
  EXPECT_EQ(to_text(read("[a, a]").error()), "flags.yaml:1:5: `a` appears twice in `these`; accepted: each name once");
}

TEST(Partial, AppliesOnlySetMembers) {
  Car car;
  for_each_field<Car>([&car](const auto& field) {
    Car other;
    other.*field.member = test::other_value(field.kind, car.*field.member);
    Partial<Car> partial;
    partial.set(field.member, other.*field.member);
    EXPECT_EQ(non_default(other), partial) << field.key;
    Car changed = car;
    partial.apply_to(changed);
    EXPECT_EQ(changed, other) << field.key;
  });
  EXPECT_TRUE(non_default(car).empty());
}

TEST(JsonObject, RoundTripsAPartial) {
  Partial<Wheels> wheels;
  EXPECT_TRUE(json_object(wheels).empty());
  wheels.set(&Wheels::count, 5);
  EXPECT_EQ(json_object(wheels).text(), R"({"count": 5})");
  EXPECT_EQ(read_wheels(json_object(wheels).text()).value(), wheels);
}

/// Every member is included, except names and absent values.
TEST(CanonicalObject, IncludesEachHashedMember) {
  EXPECT_EQ(canonical_object(Car{}).text(),
            R"({"seats": 4, "litres": 5.5, "doors": 0, "roof": true, "colour": "red", "gears": [], "to_hundred": 0})");
  for_each_field<Car>([](const auto& field) {
    Car other;
    other.*field.member = test::other_value(field.kind, other.*field.member);
    const bool same = canonical_object(other).text() == canonical_object(Car{}).text();
    EXPECT_EQ(same, field.options.hashed == Hashed::never) << field.key;
  });
}

TEST(FindOutOfRange, ReportsTheFirst) {
  EXPECT_EQ(find_out_of_range(Car{}), std::nullopt);
  EXPECT_THAT(find_out_of_range(Car{.seats = 0, .litres = 21}),
              Optional(testing::StrEq("the number of seats is 0; accepted: 1 to 9")));
  EXPECT_THAT(find_out_of_range(Car{.litres = 21}), Optional(testing::StrEq("litres is 21; accepted: 0 to 20")));
  EXPECT_THAT(find_out_of_range(Car{}, &Car::seats, Integer{1, 3}),
              Optional(testing::StrEq("the number of seats is 4; accepted: 1 to 3")));
}

TEST(ChangedDescriptions, CoversEachMember) {
  const Car car;
  EXPECT_THAT(changed_descriptions(car, car), IsEmpty());
  EXPECT_THAT(changed_descriptions(Flags{}, Flags{true, false}), ElementsAre("a true")) << "words are not needed";
  EXPECT_EQ(description_of(Car{.seats = 5}, &Car::seats), "5 seats");
  EXPECT_EQ(description_of(Car{}, &Car::radio), "without a radio");
}

}  // namespace
}  // namespace dovetail::base
