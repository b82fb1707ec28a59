"""Many languages and scripts, most of whose characters take several bytes, and often several tokens."""

from verispec_bench.exactness.parity.corpus.prompt import GreedyPrompt, of_kind

QUESTIONS = {
    "Chinese": ("请用三句话介绍北京的四季。", "怎样煮一碗好吃的番茄鸡蛋面？"),
    "Japanese": ("富士山について三つの文で教えてください。", "雨の日に家でできることを五つ挙げてください。"),
    "Korean": ("서울의 가을을 세 문장으로 소개해 주세요.", "초보자를 위한 김치볶음밥 만드는 법을 알려 주세요."),
    "Arabic": ("اكتب ثلاث جمل عن مدينة القاهرة.", "كيف أتعلم لغة جديدة في وقت قصير؟"),
    "Hebrew": ("ספר לי בשלושה משפטים על ירושלים.", "מה כדאי לארוז לטיול של יומיים?"),
    "Hindi": ("भारत के तीन त्योहारों के बारे में बताइए।", "चाय बनाने की विधि क्रम से लिखिए।"),
    "Bengali": ("বর্ষাকাল নিয়ে তিনটি বাক্য লেখো।", "একটি ভালো বই কীভাবে বেছে নেব?"),
    "Thai": ("ช่วยแนะนำอาหารไทยสามอย่าง", "ทำไมท้องฟ้าจึงเป็นสีฟ้า"),
    "Russian": ("Расскажи в трёх предложениях о Байкале.", "Как научить ребёнка играть в шахматы?"),
    "Ukrainian": ("Опиши осінь у Карпатах трьома реченнями.", "Які книжки варто взяти в дорогу?"),
    "Greek": ("Πες μου τρία πράγματα για την Κρήτη.", "Πώς φτιάχνεται μια απλή χωριάτικη σαλάτα;"),
    "Turkish": ("İstanbul'u üç cümleyle anlat.", "Güne erken başlamak için ne önerirsin?"),
    "Vietnamese": ("Hãy giới thiệu Hà Nội trong ba câu.", "Làm thế nào để trồng rau trong căn hộ nhỏ?"),
    "German": ("Erkläre einem Kind, warum es Ebbe und Flut gibt.", "Nenne fünf Gründe für einen Mittagsschlaf."),
}
BEGINNINGS = (
    "从前有一座山，山里有一座庙，庙里",
    "吾輩は犬である。名前は",
    "कल सुबह हम सब मिलकर",
    "В лесу родилась ёлочка, в лесу она",
    "Мой дядя живёт в маленьком доме у реки, и каждое утро",
    "Καλημέρα! Σήμερα ο καιρός είναι",
    "كان يا ما كان، في قديم الزمان،",
    "היה היה פעם ילד קטן שגר",
    "Es war einmal ein Müller, der",
    "Il était une fois, dans une forêt profonde,",
    "Il gatto dorme, il cane dorme, il topo",
    "El sol sale por el este y",
    "Dzień dobry! Nazywam się Łucja i mieszkam w",
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Příliš",
    "🌱 seed, 🌿 sprout, 🌳 tree, 🍎 fruit. 🥚 egg, 🐣 chick, 🐔",
    "😀 😃 😄 😁 😆 😅 😂 🤣 😀 😃 😄 😁",
    "Weather: Mon ☀️, Tue 🌧️, Wed ☀️, Thu 🌧️, Fri",
    "∀x ∈ ℝ: x² ≥ 0. ∀n ∈ ℕ: n + 1 > n. ∀x ∈ ℝ:",
    "naïve café, jalapeño, Zürich, Ångström, smörgåsbord, naïve café,",
    "1 = 一, 2 = 二, 3 = 三, 4 = 四, 5 =",
    "Α α, Β β, Γ γ, Δ δ, Ε ε,",
    "А Б В Г Д Е Ё Ж З И",
    "👩‍🚀 astronaut, 👨‍🍳 cook, 👩‍🔬 scientist, 👨‍🌾",
    "안녕하세요, 만나서 반갑습니다. 제 이름은",
    "สวัสดีครับ ผมชื่อ",
    "Merhaba, adım Çağrı ve",
)


def prompts() -> list[GreedyPrompt]:
    """Questions in each language, then the beginnings."""
    return of_kind("multilingual", [text for pair in QUESTIONS.values() for text in pair], list(BEGINNINGS))
